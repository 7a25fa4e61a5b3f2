import type { CurrentSession, SignInProvider, SignInStart } from '@tidemark/protocol';
import type { CallOptions, Transport } from '../../transport/transport.ts';

export type SessionCredentials =
  | { readonly login: string; readonly password: string }
  /** A token with the scope `read` or `admin`. */
  | { readonly token: string }
  /** What the identity provider sent the browser back with. */
  | { readonly code: string; readonly state: string };

/**
 * The session of the web console. Its token is in a cookie that scripts cannot read, so these calls are for pages of the
 * server itself, which send the header `X-Tidemark-Console`; programs use a token.
 */
export class SessionCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  signIn(credentials: SessionCredentials, options?: CallOptions): Promise<CurrentSession> {
    return this.#api.post('/rc/v1/session', credentials, 'harmful', options);
  }

  /** The identity provider that administrators sign in with; its name is null if there is none. */
  provider(options?: CallOptions): Promise<SignInProvider> {
    return this.#api.get('/rc/v1/session/provider', options);
  }

  /** Begins to sign in with the identity provider. The browser then goes to the address in the answer. */
  begin(options?: CallOptions): Promise<SignInStart> {
    return this.#api.post('/rc/v1/session/provider', {}, 'harmful', options);
  }

  get(options?: CallOptions): Promise<CurrentSession> {
    return this.#api.get('/rc/v1/session', options);
  }

  signOut(options?: CallOptions): Promise<CurrentSession> {
    return this.#api.delete('/rc/v1/session', options);
  }
}
