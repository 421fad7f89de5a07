"""Takes an order: python order.py TABLE WHAT..."""

import sys

from sessiond import Client, text

table, dish = sys.argv[1], " ".join(sys.argv[2:])
with Client() as db:
    session = db.session("kitchen", "evening", table)
    session.create(exist_ok=True, labels={"floor": "terrace" if table.startswith("t") else "hall"})
    number = session.increment("app:orders")
    session.append(author="guest", content=text("user", dish), delta={"open": number})
print(f"Order {number} of table {table}: {dish}.")
