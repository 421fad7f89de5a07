// An OpenID Connect issuer on this machine, to try sessiond with: docs/access.md. Its clients stand for those of a company.
// Not for production: its secrets are in this file, its keys and tokens are gone when it stops.
import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

const ISSUER = 'http://127.0.0.1:3000';
// The API for which a token is meant: its `aud`, and the `resource` that a client asks for (RFC 8707).
const AUDIENCE = 'https://sessions.example.com';

const client = (client_id, role) => ({
  client_id,
  client_secret: 'only-for-trying',
  role,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
});

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const provider = new Provider(ISSUER, {
  clients: [client('ada', 'user'), client('shop-agent', 'agent')],
  extraClientMetadata: { properties: ['role'] },
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: 'RS256' }] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (ctx, resource) => {
        if (resource !== AUDIENCE) throw new Error('no such resource');
        return {
          scope: 'sessions',
          audience: AUDIENCE,
          // A JWT of RFC 9068. The default is an opaque token, which only the issuer can read.
          accessTokenFormat: 'jwt',
          accessTokenTTL: 15 * 60,
        };
      },
    },
  },
  // The claim for --jwt-role-claim.
  extraTokenClaims: (ctx) => ({ role: ctx.oidc.client.role }),
});

provider.listen(3000, '127.0.0.1', () => console.log(`${ISSUER}/.well-known/openid-configuration`));
