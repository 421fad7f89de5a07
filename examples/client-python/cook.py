"""Cooks what is open, one order of a table at a time: python cook.py NAME. Start as many as you like."""

import sys
import time

from sessiond import BusyError, Client, text

(name,) = sys.argv[1:]
with Client() as db:
    for found in db.sessions("kitchen"):
        session = db.session("kitchen", found.user, found.id)
        try:
            with session.lease(owner=name, wait=0) as turn:
                number = turn.state("open", None)
                if number is None:
                    continue
                (order,) = turn.events(last=1, author="guest")
                # Another cook who comes to this table meanwhile goes on to the next one.
                time.sleep(0.2)
                turn.append(
                    author=name,
                    content=text("model", f"{order.text}, ready."),
                    ops=[{"op": "remove", "key": "open"}, {"op": "union", "key": "user:cooks", "value": [name]}],
                )
                print(f"{name}: order {number} of table {found.id}: {order.text}, ready.")
        except BusyError as busy:
            print(f"{name}: {busy.owner} has table {found.id}.")
