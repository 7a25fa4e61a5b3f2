import type { Clock } from '@tidemark/core';
import { type CryptoKey, importPKCS8, SignJWT } from 'jose';

export interface ProviderTokenParts {
  /** The text of the .p8 file. */
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly clock: Clock;
}

/** Apple accepts a token for an hour. */
const RENEW_AFTER_MS = 50 * 60_000;
/** Apple refuses tokens that are renewed more often. */
const RENEW_EVERY_MS = 20 * 60_000;

interface SignedToken {
  readonly atMs: number;
  readonly text: Promise<string>;
  /** Null while the token is being signed. */
  ready: string | null;
}

/** The token by which Apple recognises the operator, renewed before it expires. */
export class ProviderToken {
  readonly #parts: ProviderTokenParts;
  readonly #key: Promise<CryptoKey>;
  #token: SignedToken | null = null;

  constructor(parts: ProviderTokenParts) {
    this.#parts = parts;
    this.#key = importPKCS8(parts.key, 'ES256');
    // Callers of `text` get the error; without a handler Node.js would end the process.
    this.#key.catch(() => undefined);
  }

  /** Returns the token directly if there is one, which is nearly always so. */
  text(): string | Promise<string> {
    const nowMs = this.#parts.clock.nowMs();
    if (this.#token === null || this.#ageMs(nowMs) >= RENEW_AFTER_MS) this.#token = this.#renew(nowMs);
    return this.#token.ready ?? this.#token.text;
  }

  /** Called when Apple says that the token is too old, for example because clocks differ. */
  expire(): void {
    const nowMs = this.#parts.clock.nowMs();
    if (this.#token !== null && this.#ageMs(nowMs) >= RENEW_EVERY_MS) this.#token = null;
  }

  /** A clock that was set back must not keep a token forever. */
  #ageMs(nowMs: number): number {
    return this.#token === null ? 0 : Math.abs(nowMs - this.#token.atMs);
  }

  #renew(nowMs: number): SignedToken {
    const made: SignedToken = { atMs: nowMs, text: this.#sign(Math.floor(nowMs / 1_000)), ready: null };
    made.text.then(
      (text) => {
        made.ready = text;
      },
      // Callers of `text` get the error.
      () => undefined,
    );
    return made;
  }

  async #sign(issuedAtS: number): Promise<string> {
    const { keyId, teamId } = this.#parts;
    const header = { alg: 'ES256', kid: keyId };
    return new SignJWT({ iss: teamId, iat: issuedAtS }).setProtectedHeader(header).sign(await this.#key);
  }
}
