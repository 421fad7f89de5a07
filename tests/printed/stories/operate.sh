for name in restored sessiond; do dropdb --if-exists $name; done
createuser sessiond_owner 2>/dev/null || true
createdb --owner=sessiond_owner sessiond
sessiond() { run_sessiond "${@/@*\//@127.0.0.1/}"; }
sessiond --database-url postgres://sessiond_owner@db/sessiond
curl --fail -X PUT $SESSIOND_URL/v1/apps/shop/users/ada/sessions/s1
<<< docs/operate.md: pg_dump --format=custom
<<< docs/operate.md: pg_restore --exit-on-error
[ "$(psql --no-align --tuples-only --command 'select count(*) from sessions' restored)" = 1 ]
<<< docs/operate.md: pg_basebackup
sessiond erasures export --database-url postgres://postgres@db/sessiond >ledger.ndjson
<<< docs/operate.md: erasures replay
stop
for name in restored sessiond; do dropdb $name; done
mkdir copy && cd copy && cp "$ROOT/ops/prometheus/alerts.yml" .
<<< docs/operate.md: sed --in-place
! grep 'runbook_url: docs/' alerts.yml
cd ..
