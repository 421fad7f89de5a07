#!/usr/bin/env bash
# A minute with sessiond, in curl. Against a running server:
#
#   SESSIOND_URL=http://127.0.0.1:8080 examples/quickstart.sh
#
# SESSIOND_TOKEN is a key of the role `agent` or above, if the server requires a credential. It is not printed.
#
# Prints each command and its answer, and fails if an answer is not as the comments say. Each run uses an app of its
# own, so you can run it any number of times.
set -euo pipefail

url=${SESSIOND_URL:-http://127.0.0.1:8080}
app=$url/v1/apps/quickstart-$(date +%s)-$$
sessions=$app/users/ada/sessions

ask=(curl --silent --show-error)
[ -z "${SESSIOND_TOKEN:-}" ] || ask+=(--header "authorization: Bearer $SESSIOND_TOKEN")

answer=$(mktemp -d)
trap 'rm -rf "$answer"' EXIT

say() { printf '\n# %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# An argument as one would type it.
shown() {
    case $1 in
        *[!A-Za-z0-9_./:=@%,+-]*) printf " '%s'" "${1//\'/\'\\\'\'}" ;;
        *) printf ' %s' "$1" ;;
    esac
}

# call STATUS ARGUMENTS...: runs curl, shows the command and the answer, and fails if the status is another one.
call() {
    local expected=$1 status argument
    shift
    printf '$ curl'
    for argument in "$@"; do shown "$argument"; done
    printf '\n'
    status=$("${ask[@]}" --dump-header "$answer/head" --output "$answer/body" \
        --write-out '%{http_code}' "$@") || fail "curl failed; is sessiond running at $url?"
    printf '%s' "$status"
    tr -d '\r' <"$answer/head" | grep -iE '^(etag|idempotent-replayed):' | while read -r line; do
        printf ', %s' "$line"
    done || true
    printf '\n'
    body=$(cat "$answer/body" 2>/dev/null || true)
    rm -f "$answer/body"
    [ -z "$body" ] || printf '%s\n' "$body"
    [ "$status" = "$expected" ] || fail "expected the status $expected"
}

has() {
    case $body in
        *"$1"*) ;;
        *) fail "expected $1 in the answer" ;;
    esac
}

lacks() {
    case $body in
        *"$1"*) fail "did not expect $1 in the answer" ;;
    esac
}

is() { [ "$body" = "$1" ] || fail "expected exactly $1"; }

has_header() { tr -d '\r' <"$answer/head" | grep -iqx "$1" || fail "expected the header $1"; }

# `curl --json` is of 2022; what it stands for works with every curl.
if [[ $(curl --help all 2>/dev/null || true) == *--json* ]]; then
    json() { data=(--json "$1"); }
else
    json() { data=(-H 'Content-Type: application/json' -d "$1"); }
fi

say 'Create a session, with some state of its own.'
json '{"sessionId":"s1","state":{"topic":"returns"}}'
call 201 "${data[@]}" "$sessions"
has '"revision":0'

say 'Append an event. The prefix of each key decides where it lives; temp: keys live nowhere.'
json '{"id":"e1","author":"agent","actions":{"stateDelta":{"app:greeting":"Hello","user:name":"Ada","temp:draft":"?","step":1}}}'
call 201 "${data[@]}" "$sessions/s1/events"
has '"sequence":1'
lacks 'temp:'

say 'Append another one, which changes a key and adds one.'
json '{"id":"e2","author":"agent","actions":{"stateDelta":{"step":2,"price":1.10}}}'
call 201 "${data[@]}" "$sessions/s1/events"
first=$body
has_header 'etag: "2\..*"'

say 'Read one merged state. Numbers come back as they were written.'
call 200 "$sessions/s1/state"
is '{"app:greeting":"Hello","user:name":"Ada","price":1.10,"step":2,"topic":"returns"}'

say 'The answer got lost? Send the same event again: it is recognised, and nothing is applied twice.'
call 200 "${data[@]}" "$sessions/s1/events"
has_header 'idempotent-replayed: true'
is "$first"

say 'A writer that last saw revision 1 must not overwrite what it has not seen.'
json '{"author":"agent","actions":{"stateDelta":{"step":99}}}'
call 412 -H 'If-Match: "1"' "${data[@]}" "$sessions/s1/events"
has '"code":"revision_mismatch"'
has '"revision":2'
has '"outcome":"not_applied"'

say 'One that has seen revision 2 may write.'
json '{"id":"e3","author":"agent","actions":{"stateDelta":{"step":3}}}'
call 201 -H 'If-Match: "2"' "${data[@]}" "$sessions/s1/events"
has '"sequence":3'

say 'Another session of the same user sees the app: and user: keys, and not the keys of the first one.'
json '{"sessionId":"s2"}'
call 201 "${data[@]}" "$sessions"
call 200 "$sessions/s2/state"
is '{"app:greeting":"Hello","user:name":"Ada"}'

say 'The first session, in the end: its events in order, and the state that they add up to.'
call 200 "$sessions/s1"
has '"revision":3'
has '"state":{"app:greeting":"Hello","user:name":"Ada","price":1.10,"step":3,"topic":"returns"}'

say 'Delete both. App and user state stay.'
call 204 -X DELETE "$sessions/s1"
call 204 -X DELETE "$sessions/s2"
call 200 "$app/users/ada/state"
is '{"name":"Ada"}'

say 'All as it should be.'
