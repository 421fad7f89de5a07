sessiond
curl --json '{"sessionId":"s1"}' $SESSIOND_URL/v1/apps/cafe/users/ada/sessions
curl --json '{"author":"user","content":{"role":"user","parts":[{"text":"My favourite is green tea."}]}}' $SESSIOND_URL/v1/apps/cafe/users/ada/sessions/s1/events
<<< docs/memory.md: {"search":{"index":true}}
curl "$SESSIOND_URL/v1/apps/cafe/users/ada/search?text=favourite%20tea&limit=5" | grep 'green tea'
curl -X PUT $SESSIOND_URL/v1/apps/cafe/users/langgraph/sessions/store%2Fada
<<< docs/memory.md: prefix=lg/store/
