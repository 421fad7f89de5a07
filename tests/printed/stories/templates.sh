sessiond
S=$SESSIOND_URL/v1/apps/shop/users/ada/sessions
curl --json '{"sessionId":"s1","state":{"user:name":"Ada"}}' $S
cat >template.json <<'END'
<<< docs/templates.md: "braces": "adk"
END
curl --fail -H 'content-type: application/json' -d @template.json $S/s1/render | grep 'You help Ada with .'
