<<< docs/clients.md: from sessiond import Client, text
<<< docs/clients.md: for message in session.conversation():
Client("http://127.0.0.1:8080").request("PUT", "/v1/apps/cafe/policy", json={"search": {"index": True}})
<<< docs/memory.md: for hit in db.search
assert order >= 1 and hit.event.author == "user"
