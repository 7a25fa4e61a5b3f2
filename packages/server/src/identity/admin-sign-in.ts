import { createHash, randomBytes } from 'node:crypto';
import type { Clock, Identities, Identity, Log } from '@tidemark/core';
import { errorMessage, Refusal } from '@tidemark/protocol';
import type { JWTPayload } from 'jose';
import { CountedRefusal } from '../auth/login-limiter.ts';
import type { SignInAttempt } from '../auth/sign-in-cookie.ts';
import type { AdminSignInConfig, RoleScope } from '../config/admin-sign-in-settings.ts';
import type { IssuerConfig } from '../config/issuer-settings.ts';
import { ISSUER_REFETCH_MS, SIGN_IN_MS_MAX } from '../limits.ts';
import { FetchFailure, type PostedForm } from '../outbound/get-json.ts';
import { CachedFetch } from './cached-fetch.ts';
import { discover, trustedUrl } from './discovery.ts';
import type { KeySet } from './key-set.ts';
import { requireShort, userOfClaims, verifiedClaims } from './verify-token.ts';

export interface AdminSignInParts {
  readonly client: AdminSignInConfig;
  readonly issuer: IssuerConfig;
  readonly keys: KeySet;
  readonly getJson: (url: URL) => Promise<unknown>;
  readonly postForm: (url: URL, form: PostedForm) => Promise<{ readonly status: number; readonly body: () => unknown }>;
  readonly identities: Identities;
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly log: Log;
}

/** An administrator whom the identity provider vouches for. */
export interface AdminUser {
  readonly login: string;
  readonly identity: Identity;
  readonly scopes: readonly RoleScope[];
  readonly expiresAtMs: number;
}

interface Endpoints {
  readonly authorization: URL;
  readonly token: URL;
  /** True: the client secret is a field of the form instead of a header. */
  readonly isSecretPosted: boolean;
}

const RANDOM_BYTES = 32;

/** Administrators sign in with the authorization code flow of OpenID Connect, with PKCE. Their roles give the scopes. */
export class AdminSignIn {
  readonly #parts: AdminSignInParts;
  readonly #endpoints: CachedFetch<Endpoints>;

  constructor(parts: AdminSignInParts) {
    this.#parts = parts;
    const { issuer, getJson, steadyClock, log } = parts;
    this.#endpoints = new CachedFetch({
      fetch: async () => endpointsIn(await discover(issuer.issuer, getJson)),
      steadyClock,
      onFailure: ({ message: reason }) => log.warn('issuer_not_discovered', { issuer: issuer.name, reason }),
    });
  }

  /** The name of the identity provider. */
  get name(): string {
    return this.#parts.issuer.name;
  }

  /** Begins a sign-in. The browser goes to `url` and comes back to `redirectUrl` with a code and the state. */
  async start(redirectUrl: string): Promise<{ readonly url: string; readonly attempt: SignInAttempt }> {
    const { authorization } = await this.#required();
    const [state, nonce, verifier] = [randomWord(), randomWord(), randomWord()];
    const url = new URL(authorization);
    const parameters = {
      ...{ response_type: 'code', client_id: this.#parts.client.clientId, redirect_uri: redirectUrl },
      ...{ scope: 'openid profile email', state, nonce, code_challenge_method: 'S256' },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { url: url.href, attempt: { state, nonce, verifier, startedAtMs: this.#parts.clock.nowMs() } };
  }

  /** Ends the sign-in that the browser has begun. */
  async finish(
    attempt: SignInAttempt | null,
    { code, state, redirectUrl }: { readonly code: string; readonly state: string; readonly redirectUrl: string },
  ): Promise<AdminUser> {
    if (attempt === null || attempt.state !== state) {
      throw new CountedRefusal('sign_in_state_invalid', 'this browser has not begun the sign-in that this code is for');
    }
    const ageMs = this.#parts.clock.nowMs() - attempt.startedAtMs;
    if (!(ageMs >= 0 && ageMs < SIGN_IN_MS_MAX)) {
      throw new Refusal('sign_in_expired', 'the sign-in took too long; begin again');
    }
    const idToken = await this.#exchange({ code, redirect_uri: redirectUrl, code_verifier: attempt.verifier });
    return this.#userOf(await this.#verified(idToken), attempt.nonce);
  }

  /** Returns the administrator of an ID token that a program got for the client of the console. */
  async userOf(idToken: string): Promise<AdminUser> {
    return this.#userOf(await this.#verified(idToken), null);
  }

  #verified(text: string): Promise<JWTPayload> {
    requireShort(text);
    const { issuer, client, keys, clock } = this.#parts;
    const audiences = [client.clientId];
    return verifiedClaims({ kind: 'id_token', text }, { ...issuer, audiences }, keys, clock.nowMs());
  }

  /** `nonce` is null if the caller has made the request for the token. */
  async #userOf(claims: JWTPayload, nonce: string | null): Promise<AdminUser> {
    if (nonce !== null && claims.nonce !== nonce) {
      throw new CountedRefusal('id_token_nonce', 'the claim nonce of the token is not that of the sign-in');
    }
    const { issuer, client, identities, clock } = this.#parts;
    const scopes = scopesIn(claims, client);
    const { subject, login } = userOfClaims(claims, issuer);
    const identity = { issuer: issuer.issuer, subject };
    // The role was given to this very identity, so it may have a user whatever devices may create.
    const user = await identities.userOf({ ...identity, login, mayCreate: true, mayAdopt: issuer.adoptsUsers });
    return { login: user, identity, scopes, expiresAtMs: clock.nowMs() + client.sessionS * 1_000 };
  }

  async #exchange(proof: Readonly<Record<string, string>>): Promise<string> {
    const { token, isSecretPosted } = await this.#required();
    const { clientId: client_id, clientSecret } = this.#parts.client;
    const fields = { grant_type: 'authorization_code', client_id, ...proof };
    const form =
      clientSecret === null || isSecretPosted
        ? { fields: { ...fields, ...(clientSecret === null ? {} : { client_secret: clientSecret }) }, headers: {} }
        : { fields, headers: { authorization: basic(client_id, clientSecret) } };
    try {
      const { status, body } = await this.#parts.postForm(token, form);
      return idTokenIn(status, body());
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      throw this.#unavailable(error);
    }
  }

  async #required(): Promise<Endpoints> {
    const endpoints = await this.#endpoints.get();
    if (endpoints === null) throw this.#unavailable(new FetchFailure('the discovery document is not known'));
    return endpoints;
  }

  #unavailable(failure: FetchFailure): Refusal {
    this.#parts.log.warn('issuer_not_reached', { issuer: this.name, reason: errorMessage(failure) });
    const detail = `the issuer ${JSON.stringify(this.name)} cannot be asked now`;
    return new Refusal('issuer_unavailable', detail, [], Math.ceil(ISSUER_REFETCH_MS / 1_000));
  }
}

function endpointsIn(document: Readonly<Record<string, unknown>>): Endpoints {
  const { token_endpoint_auth_methods_supported: methods } = document;
  return {
    authorization: trustedUrl(document, 'authorization_endpoint'),
    token: trustedUrl(document, 'token_endpoint'),
    isSecretPosted: Array.isArray(methods) && !methods.includes('client_secret_basic'),
  };
}

/** A code that is unknown, used before or of another sign-in is `invalid_grant` (RFC 6749, 5.2). */
function idTokenIn(status: number, answer: unknown): string {
  const { error, id_token: idToken } = (answer ?? {}) as { readonly error?: unknown; readonly id_token?: unknown };
  if (error === 'invalid_grant') {
    throw new CountedRefusal('sign_in_code_refused', 'the identity provider refused the code; begin again');
  }
  if (status !== 200) throw new FetchFailure(`the token endpoint answered ${status}`);
  if (typeof idToken !== 'string') throw new FetchFailure('the token endpoint answered no ID token');
  return idToken;
}

function scopesIn(claims: JWTPayload, { roleClaim, roles }: AdminSignInConfig): readonly RoleScope[] {
  const given: readonly unknown[] = [claims[roleClaim]].flat();
  const scopes = new Set([...roles].flatMap(([role, ofRole]) => (given.includes(role) ? ofRole : [])));
  if (scopes.size > 0) return [...scopes];
  throw new Refusal('role_missing', `the claim ${JSON.stringify(roleClaim)} of the token has no role of this server`);
}

/** Both are form-encoded before they are joined (RFC 6749, 2.3.1). */
function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
}

function randomWord(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
