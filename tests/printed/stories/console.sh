sessiond
cp -r "$ROOT/examples" .
<<< docs/console.md: examples/demo.sh
<<< docs/console.md: --console-link
curl --dump-header - --output /dev/null $SESSIOND_URL/console/ | sed -n "s/\r//; s/^content-security-policy: //p" | sed "s/base-uri 'none'; /&\n/" >>> docs/console.md: default-src 'none'
