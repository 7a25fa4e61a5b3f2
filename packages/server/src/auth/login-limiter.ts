import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Clock } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import {
  FAILED_LOGINS_PER_ACCOUNT_MAX,
  FAILED_LOGINS_PER_ADDRESS_MAX,
  FAILED_LOGINS_WINDOW_MS,
  LOGIN_KEYS_MAX,
  LOGINS_WAITING_MAX,
} from '../limits.ts';

const RETRY_AFTER_S = 2;

/** A refusal that counts as a failed login: the password was looked at, and was not the right one. */
export class CountedRefusal extends Refusal {}

interface Bound {
  readonly key: string;
  readonly max: number;
}

interface Tally {
  failedAtMs: readonly number[];
  /** Attempts under way, of which nobody knows yet how they end. */
  pending: number;
}

/**
 * Slows down whoever guesses passwords. An attempt under way takes a place until it is known not to have failed, so that
 * guessing many at once gains nothing; but whoever finds only such places taken waits, and is not refused for them.
 */
export class LoginLimiter {
  readonly #clock: Clock;
  readonly #tallies = new Map<string, Tally>();
  readonly #waiting: (() => void)[] = [];

  readonly #onFailure: (keys: readonly string[]) => void;

  /** `onFailure` hears of every login that failed here, so that other servers may count it, too. */
  constructor(clock: Clock, onFailure: (keys: readonly string[]) => void = () => undefined) {
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** A login has failed at another server. */
  noteFailed(keys: readonly string[]): void {
    const nowMs = this.#clock.nowMs();
    for (const key of keys) {
      const tally = this.#kept(key);
      tally.failedAtMs = [...tally.failedAtMs, nowMs].slice(-FAILED_LOGINS_PER_ACCOUNT_MAX);
    }
  }

  /** Does the work, of which null means that the login failed. Refuses when too many have failed lately. */
  async attempt<T>(address: string, login: string, work: () => Promise<T | null>): Promise<T | null> {
    const bounds = boundsOf(address, login);
    while (!this.#hasRoom(bounds)) await this.#anotherToEnd();
    for (const { key } of bounds) this.#kept(key).pending++;
    try {
      const result = await work();
      if (result === null) this.#noteFailure(bounds);
      return result;
    } catch (error) {
      if (error instanceof CountedRefusal) this.#noteFailure(bounds);
      throw error;
    } finally {
      for (const { key } of bounds) this.#release(key);
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }

  #release(key: string): void {
    const tally = this.#tallies.get(key);
    if (tally === undefined) return;
    // It may have been forgotten meanwhile, and begun anew.
    tally.pending = Math.max(0, tally.pending - 1);
    if (tally.pending === 0 && tally.failedAtMs.length === 0) this.#tallies.delete(key);
  }

  #hasRoom(bounds: readonly Bound[]): boolean {
    for (const { key, max } of bounds) this.#refuseAfter(this.#recentFailures(key), max);
    return bounds.every(({ key, max }) => {
      const pending = this.#tallies.get(key)?.pending ?? 0;
      return this.#recentFailures(key).length + pending < max;
    });
  }

  #refuseAfter(failedAtMs: readonly number[], max: number): void {
    const [oldestMs] = failedAtMs;
    if (oldestMs === undefined || failedAtMs.length < max) return;
    const waitS = Math.max(1, Math.ceil((oldestMs + FAILED_LOGINS_WINDOW_MS - this.#clock.nowMs()) / 1_000));
    throw new Refusal('rate_limited', `too many failed logins; try again in ${waitS} seconds`, [], waitS);
  }

  #anotherToEnd(): Promise<void> {
    if (this.#waiting.length >= LOGINS_WAITING_MAX) {
      throw new Refusal('overloaded', 'too many logins are being checked at once', [], RETRY_AFTER_S);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #noteFailure(bounds: readonly Bound[]): void {
    const keys = bounds.map(({ key }) => key);
    this.noteFailed(keys);
    this.#onFailure(keys);
  }

  #recentFailures(key: string): readonly number[] {
    const nowMs = this.#clock.nowMs();
    return (this.#tallies.get(key)?.failedAtMs ?? []).filter((atMs) => nowMs - atMs < FAILED_LOGINS_WINDOW_MS);
  }

  /**
   * The tally of a key, which is kept from now on. Only attempts that are really made get here: those that are refused
   * cost nothing, and could otherwise push out the tallies of others.
   */
  #kept(key: string): Tally {
    const tally = this.#tallies.get(key) ?? { failedAtMs: [], pending: 0 };
    tally.failedAtMs = this.#recentFailures(key);
    // Setting it anew makes it the youngest of the map, so that the first ones are the longest unused.
    this.#tallies.delete(key);
    this.#tallies.set(key, tally);
    for (const oldest of this.#tallies.keys()) {
      if (this.#tallies.size <= LOGIN_KEYS_MAX) break;
      this.#tallies.delete(oldest);
    }
    return tally;
  }
}

/** Logins are what strangers send, of any length: only a hash of them is kept. */
function boundsOf(address: string, login: string): readonly Bound[] {
  const account = createHash('sha256').update(login).digest('base64');
  return [
    { key: `address ${networkOf(address)}`, max: FAILED_LOGINS_PER_ADDRESS_MAX },
    { key: `account ${account}`, max: FAILED_LOGINS_PER_ACCOUNT_MAX },
  ];
}

const GROUPS_OF_NETWORK = 4;

/**
 * Whom an address is counted for. An IPv6 network of 64 bits is what one customer gets, with more addresses than there
 * are attempts; an IPv4 address inside IPv6 is that IPv4 address.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [plain = ''] = address.split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  // The URL parser writes every spelling in one way.
  const [left = '', right] = new URL(`http://[${plain}]/`).hostname.slice(1, -1).split('::');
  const groups = left === '' ? [] : left.split(':');
  const behind = right === undefined || right === '' ? [] : right.split(':');
  while (right !== undefined && groups.length + behind.length < 8) groups.push('0');
  return `${[...groups, ...behind].slice(0, GROUPS_OF_NETWORK).join(':')}::/64`;
}
