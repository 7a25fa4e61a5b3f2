import type { Clock } from '@tidemark/core';
import { type CryptoKey, importPKCS8, SignJWT } from 'jose';

export interface ProviderTokenParts {
  /** The text of the .p8 file. */
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly clock: Clock;
}

/** Apple takes a token for an hour. */
const RENEW_AFTER_MS = 50 * 60_000;
/** Apple refuses whoever makes new ones more often. */
const RENEW_EVERY_MS = 20 * 60_000;

interface Made {
  readonly atMs: number;
  readonly text: Promise<string>;
  /** Null: it is being made. */
  ready: string | null;
}

/** The token by which Apple knows the operator, made anew before it gets old. */
export class ProviderToken {
  readonly #parts: ProviderTokenParts;
  readonly #key: Promise<CryptoKey>;
  #made: Made | null = null;

  constructor(parts: ProviderTokenParts) {
    this.#parts = parts;
    this.#key = importPKCS8(parts.key, 'ES256');
    // Whoever asks for a token is told; nobody else has to be.
    this.#key.catch(() => undefined);
  }

  /** At once when there is one, which is nearly always. */
  text(): string | Promise<string> {
    const nowMs = this.#parts.clock.nowMs();
    if (this.#made === null || this.#ageMs(nowMs) >= RENEW_AFTER_MS) this.#made = this.#make(nowMs);
    return this.#made.ready ?? this.#made.text;
  }

  /** Apple says that it is too old, perhaps because clocks differ. */
  expire(): void {
    const nowMs = this.#parts.clock.nowMs();
    if (this.#made !== null && this.#ageMs(nowMs) >= RENEW_EVERY_MS) this.#made = null;
  }

  /** A clock that was set back must not keep a token for ever. */
  #ageMs(nowMs: number): number {
    return this.#made === null ? 0 : Math.abs(nowMs - this.#made.atMs);
  }

  #make(nowMs: number): Made {
    const made: Made = { atMs: nowMs, text: this.#sign(Math.floor(nowMs / 1_000)), ready: null };
    made.text.then(
      (text) => {
        made.ready = text;
      },
      // Whoever asks for it is told; nobody else has to be.
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
