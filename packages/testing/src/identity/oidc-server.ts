/// <reference path="./oidc-provider.d.ts" />
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A real OpenID Connect provider on loopback. Everybody can sign in there by name. */
export interface OidcServer {
  readonly issuer: string;
  /** Signs a person in by the authorization code flow with PKCE, as an app does. */
  signIn(person: string): Promise<{ readonly idToken: string; readonly accessToken: string }>;
  /** Follows an authorization URL as the browser of a person who signs in. Returns the parameters it comes back with. */
  authorize(url: string, person: string): Promise<{ readonly code: string; readonly state: string }>;
  /** Exchanges a code for the ID token, as a program with the client of the console does. */
  exchange(call: { readonly code: string; readonly verifier: string; readonly redirectUrl: string }): Promise<string>;
  /** Requests for the keys so far. */
  readonly keyRequests: () => number;
  close(): Promise<void>;
}

export const OIDC_CLIENT = 'tidemark-app';
/** The audience of access tokens. */
export const OIDC_RESOURCE = 'https://sync.example';
const REDIRECT_URL = 'https://app.example/signed-in';
const HOPS_MAX = 10;
const TTL_S = 3_600;

/** The client of the web console, which has a secret. */
export const OIDC_ADMIN = { clientId: 'tidemark-console', clientSecret: 'secret of the console' } as const;

/** The claim `roles` of each person; others have none. `redirectUrl` is where the console gets its codes. */
export interface OidcOptions {
  readonly redirectUrl?: string;
  readonly roles?: Readonly<Record<string, readonly string[]>>;
}

export async function openOidcServer(options: OidcOptions = {}): Promise<OidcServer> {
  const { Provider } = await import('oidc-provider');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const handle = new Provider(issuer, configuration(options)).callback();
  let keyRequests = 0;
  server.on('request', (request, response) => {
    if (request.url === '/jwks') keyRequests++;
    handle(request, response);
  });
  return {
    issuer,
    signIn: (person) => new Browser(issuer).signIn(person),
    authorize: (url, person) => new Browser(issuer).authorize(url, person),
    async exchange({ code, verifier, redirectUrl }) {
      const { clientId: client_id, clientSecret } = OIDC_ADMIN;
      const secret = Buffer.from(`${client_id}:${encodeURIComponent(clientSecret)}`).toString('base64');
      const fields = { code, code_verifier: verifier, redirect_uri: redirectUrl };
      return (await tokensOf(issuer, { client_id, ...fields }, { authorization: `Basic ${secret}` })).idToken;
    },
    keyRequests: () => keyRequests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function configuration({ redirectUrl = REDIRECT_URL, roles = {} }: OidcOptions): object {
  const resource = {
    scope: 'openid',
    audience: OIDC_RESOURCE,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256' } },
  };
  return {
    clients: [
      {
        client_id: OIDC_CLIENT,
        redirect_uris: [REDIRECT_URL],
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: 'RS256',
      },
      {
        client_id: OIDC_ADMIN.clientId,
        client_secret: OIDC_ADMIN.clientSecret,
        redirect_uris: [redirectUrl],
        id_token_signed_response_alg: 'RS256',
      },
    ],
    jwks: { keys: signingKeys() },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: { openid: ['sub', 'email', 'email_verified', 'roles'], profile: [], email: [] },
    conformIdTokenClaims: false,
    ttl: {
      AccessToken: TTL_S,
      AuthorizationCode: TTL_S,
      Grant: TTL_S,
      IdToken: TTL_S,
      Interaction: TTL_S,
      Session: TTL_S,
    },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, roles: roles[id] }),
    }),
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => OIDC_RESOURCE,
        getResourceServerInfo: () => resource,
        useGrantedResource: () => true,
      },
    },
  };
}

function signingKeys(): readonly object[] {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  return [rsa, ec].map((key, index) => ({ ...key.export({ format: 'jwk' }), kid: `key-${index}`, use: 'sig' }));
}

async function tokensOf(
  issuer: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly idToken: string; readonly accessToken: string }> {
  const body = new URLSearchParams({ grant_type: 'authorization_code', ...fields });
  const response = await fetch(`${issuer}/token`, { method: 'POST', headers, body });
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`);
  const { id_token: idToken, access_token: accessToken } = (await response.json()) as Record<string, string>;
  if (idToken === undefined || accessToken === undefined) throw new Error('the answer has no tokens');
  return { idToken, accessToken };
}

/** Follows redirects and fills in the forms of the provider. */
class Browser {
  readonly #issuer: string;
  readonly #cookies = new Map<string, string>();

  constructor(issuer: string) {
    this.#issuer = issuer;
  }

  async signIn(person: string): Promise<{ readonly idToken: string; readonly accessToken: string }> {
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      ...{ client_id: OIDC_CLIENT, redirect_uri: REDIRECT_URL, response_type: 'code', scope: 'openid' },
      ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
      nonce: randomBytes(8).toString('hex'),
    });
    const { code } = await this.authorize(`${this.#issuer}/auth?${query}`, person);
    return tokensOf(this.#issuer, {
      ...{ client_id: OIDC_CLIENT, redirect_uri: REDIRECT_URL, code, code_verifier: verifier },
    });
  }

  async authorize(start: string, person: string): Promise<{ readonly code: string; readonly state: string }> {
    let url = start;
    for (let hop = 0; hop < HOPS_MAX; hop++) {
      const response = await this.#send(
        url,
        url.includes('/interaction/') ? formOf(await this.#page(url), person) : null,
      );
      const next = new URL(response.headers.get('location') ?? '', this.#issuer).href;
      const { searchParams: parameters, origin } = new URL(next);
      const code = parameters.get('code');
      if (code !== null) return { code, state: parameters.get('state') ?? '' };
      if (response.status >= 400 || origin !== this.#issuer) throw new Error(`${url}: ${response.status} → ${next}`);
      url = next;
    }
    throw new Error('too many redirects');
  }

  async #page(url: string): Promise<string> {
    return (await this.#send(url, null)).text();
  }

  async #send(url: string, form: URLSearchParams | null): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const init = {
      redirect: 'manual',
      headers: { cookie },
      ...(form === null ? {} : { method: 'POST', body: form }),
    } as const;
    const response = await fetch(url, init);
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }
}

function formOf(page: string, person: string): URLSearchParams {
  const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? 'login';
  return new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: person, password: 'any' } : {}) });
}
