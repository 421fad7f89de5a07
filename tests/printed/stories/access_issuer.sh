# needs: all
# needs: jq
# needs: npm
PATH=$(npm exec --yes --package=node@22 -- sh -c 'dirname "$(command -v node)"'):$PATH
mkdir examples && cp -r "$ROOT/examples/oidc" examples
<<< docs/access.md: node examples/oidc/provider.js &
until curl --fail --output /dev/null http://127.0.0.1:3000/jwks; do sleep 0.1; done 2>/dev/null
<<< docs/access.md: --jwt-issuer
<<< docs/access.md: -u ada:only-for-trying
<<< docs/access.md: -u shop-agent:only-for-trying
