# needs: all
sessiond
mkdir -p agents .venv/bin
cp -r "$ROOT/examples/adk-python/cafe" agents/my_agent
cp -r "$ROOT/examples/adk-python/cafe" .
cat >agents/services.py <<'END'
<<< clients/python/adk/README.md: import sessiond_adk
END
cp agents/services.py .
cat >.venv/bin/adk <<'END'
#!/bin/sh
case $1 in run) ;; *) set -- "$@" --port 8000 ;; esac
exec python3 -m google.adk.cli "$@"
END
chmod +x .venv/bin/adk
answers() {
    until curl --fail --output /dev/null "http://127.0.0.1:8000/$1" 2>/dev/null; do kill -0 $!; sleep 0.1; done
    curl --fail -X POST "http://127.0.0.1:8000/apps/$2/users/eve/sessions" -H 'content-type: application/json' -d '{}'
    kill $!
    wait $! || true
}
# A server is asked for a session; who talks says one thing.
adk() {
    case $1 in
        run) printf 'I am Ada. A green tea, please.\nexit\n' | .venv/bin/adk "$@" | grep 'Order 1: one green tea, hot, for Ada.' ;;
        *) .venv/bin/adk "$@" & answers list-apps my_agent ;;
    esac
}
<<< clients/python/adk/README.md: adk api_server
<<< examples/adk-python/README.md: .venv/bin/adk web &
answers dev-ui/ cafe
for app in my_agent cafe; do curl "$SESSIOND_URL/v1/apps/$app/users/eve/sessions" | grep '"sessions":\[{"id"'; done
