// The certified provider `oidc-provider`, whose people log in without a password that matters.
// Arguments: where it is installed. It prints its port, and reads the gates' addresses, as JSON.
import { createInterface } from 'node:readline';
import { createServer } from 'node:http';

const place = process.argv[2];
const { default: Provider } = await import(`${place}/node_modules/oidc-provider/lib/index.js`);

const counts = { authorization_code: 0, refresh_token: 0, errors: [] };
let handle = (request, response) => response.writeHead(503).end();
const server = createServer((request, response) => {
  if (request.url === '/test/counts') {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(counts));
  } else {
    handle(request, response);
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

createInterface({ input: process.stdin }).once('line', (line) => {
  const { gates, secret, life } = JSON.parse(line);
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const client = {
    redirect_uris: gates.map((gate) => `${gate}/.gate/callback`),
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token'],
    backchannel_logout_uri: `${gates.at(-1)}/.gate/backchannel-logout`,
    backchannel_logout_session_required: true,
    post_logout_redirect_uris: [`${gates[0]}/bye`],
  };
  const provider = new Provider(issuer, {
    clients: [
      { ...client, client_id: 'gate', client_secret: secret },
      { ...client, client_id: 'public', token_endpoint_auth_method: 'none' },
    ],
    features: {
      devInteractions: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    pkce: { methods: ['S256'], required: () => true },
    claims: { openid: ['sub', 'sid'], email: ['email', 'email_verified'], profile: ['preferred_username', 'groups'] },
    conformIdTokenClaims: false,
    findAccount: (context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@example.com`,
        email_verified: true,
        preferred_username: id,
        groups: [id === 'alice' ? 'ops' : 'guests'],
      }),
    }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: life, IdToken: life, AuthorizationCode: 60, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600 },
    cookies: { keys: ['only for tests'] },
  });
  provider.on('grant.success', (context) => { counts[context.oidc.params.grant_type] += 1; });
  for (const event of ['grant.error', 'authorization.error', 'server_error', 'backchannel.error', 'end_session.error']) {
    provider.on(event, (context, error) => counts.errors.push(`${event}: ${error?.message} ${error?.error_description ?? ''}`));
  }
  handle = provider.callback();
});
// It ends with its input.
process.stdin.on('end', () => process.exit(0));
