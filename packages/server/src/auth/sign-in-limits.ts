import { type Clock, TokenBuckets } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import {
  LOGIN_KEYS_MAX,
  REFUSED_ID_TOKENS_PER_ADDRESS_MAX,
  SIGN_INS_PER_USER_MAX,
  SIGN_INS_WINDOW_MS,
} from '../limits.ts';
import { networkOf } from './login-limiter.ts';

/**
 * Limits what the login limiter does not count: sign-ins that succeed, each of which may register a device, and tokens
 * of identity providers that are refused, each of which costs a verification.
 */
export class SignInLimits {
  readonly #signIns: TokenBuckets;
  readonly #refusedTokens: TokenBuckets;

  constructor(clock: Clock) {
    const bounds = { windowMs: SIGN_INS_WINDOW_MS, keysMax: LOGIN_KEYS_MAX };
    this.#signIns = new TokenBuckets(clock, { ...bounds, perWindow: SIGN_INS_PER_USER_MAX });
    this.#refusedTokens = new TokenBuckets(clock, { ...bounds, perWindow: REFUSED_ID_TOKENS_PER_ADDRESS_MAX });
  }

  /** Counts a sign-in of a user, or refuses it. Nobody but the user gets here, so strangers lock nobody out. */
  countSignIn(user: string): void {
    requireRoom(this.#signIns, user, 'the user has signed in too often');
    this.#signIns.spend(user);
  }

  /** Verifies a token of an identity provider, unless too many tokens from the address were refused lately. */
  async verifyToken<T>(address: string, verify: () => Promise<T>): Promise<T> {
    const network = networkOf(address);
    requireRoom(this.#refusedTokens, network, 'too many tokens from this address were refused');
    try {
      return await verify();
    } catch (error) {
      if (isRefusedToken(error)) this.#refusedTokens.spend(network);
      throw error;
    }
  }
}

function requireRoom(buckets: TokenBuckets, key: string, reason: string): void {
  if (buckets.tokensOf(key) >= 1) return;
  const waitS = Math.max(1, Math.ceil(buckets.waitMs(key) / 1_000));
  throw new Refusal('rate_limited', `${reason}; try again in ${waitS} seconds`, [], waitS);
}

/** An identity provider or a store that is away, as any failure of the server, says nothing about the token. */
function isRefusedToken(error: unknown): boolean {
  return error instanceof Refusal && error.status < 500;
}
