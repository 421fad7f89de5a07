sessiond
A=$SESSIOND_URL/v1/apps/shop
curl -X PUT $A/users/ada/sessions/s1 && curl -X PUT $A/users/bob/sessions/s1
dropdb --if-exists sessiond
<<< docs/data.md: sessiond import --database-url "$PG" sessions.ndjson
[ "$(psql --no-align --tuples-only --command 'select count(*) from sessions' sessiond)" = 2 ]
dropdb sessiond

curl --json '{}' $A/users/ada/erasure >erasure.json
id=$(sed 's/.*"id":"\([^"]*\)".*/\1/' erasure.json)
until curl $SESSIOND_URL/v1/erasures/$id | tee erasure.json | grep -q '"state":"done"'; do sleep 0.1; done
python3 -c 'import json; print(json.dumps(json.load(open("erasure.json"))["receipt"]))' >receipt.json
public=$(curl $SESSIOND_URL/v1/receipts/keys | sed 's/.*"publicKey":"\([^"]*\)".*/\1/')
sessiond() { run_sessiond "${@/hvRN8DoT…/$public}"; }
<<< docs/data.md: receipts verify receipt.json --key
sessiond receipts verify receipt.json --app shop --user bob && exit 1

sessiond backup backup.db
curl -X PUT $A/users/eve/sessions/s1
stop
<<< docs/data.md: mkdir aside
sessiond
curl --fail $A/users/bob/sessions/s1
! curl --fail $A/users/eve/sessions/s1
