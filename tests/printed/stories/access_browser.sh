# needs: node
<<< docs/access.md: --cors-origins
mkdir examples && cp -r "$ROOT/examples/browser" examples
<<< docs/access.md: python3 -m http.server &
<<< docs/access.md: --name shop-backend
<<< docs/access.md: tee examples/browser/token.json
cat >page.mjs <<'END'
// As the page is there.
const origin = "http://127.0.0.1:5173";
const fetched = globalThis.fetch;
globalThis.fetch = (url, options) => fetched(new URL(url, origin), { ...options, headers: { ...options?.headers, origin } });
<<< docs/access.md: crypto.randomUUID()
if (answer.headers.get("access-control-allow-origin") !== origin) throw new Error("a browser would show nothing");
console.log(answer.status, await answer.text());
END
until curl --fail --output /dev/null http://127.0.0.1:5173/; do sleep 0.1; done 2>/dev/null
node page.mjs >>> docs/access.md: 201 {"id"
<<< docs/access.md: TOKEN=$(jq -r .token
