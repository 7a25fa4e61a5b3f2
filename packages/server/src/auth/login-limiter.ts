import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { BoundedMap, type Clock } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import {
  FAILED_LOGINS_PER_ACCOUNT_MAX,
  FAILED_LOGINS_PER_ADDRESS_MAX,
  FAILED_LOGINS_WINDOW_MS,
  LOGIN_KEYS_MAX,
  LOGINS_WAITING_MAX,
} from '../limits.ts';

const RETRY_AFTER_S = 2;

/** A refusal that counts as a failed login: the password was checked and was wrong. */
export class CountedRefusal extends Refusal {}

interface Bound {
  readonly key: string;
  readonly max: number;
}

interface Tally {
  failedAtMs: readonly number[];
  /** Attempts that have not ended yet. */
  pending: number;
}

/**
 * Slows down guessing of passwords. A pending attempt counts as failed until it succeeds, so that guessing in
 * parallel gains nothing; but an attempt that exceeds the limit only because of pending ones waits and is not
 * refused.
 */
export class LoginLimiter {
  readonly #clock: Clock;
  readonly #tallies = new BoundedMap<string, Tally>(LOGIN_KEYS_MAX);
  readonly #waiting: (() => void)[] = [];

  readonly #onFailure: (keys: readonly string[]) => void;

  /** `onFailure` is called for every login that failed here, so that other servers can count it. */
  constructor(clock: Clock, onFailure: (keys: readonly string[]) => void = () => undefined) {
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** Counts a login that failed at another server. */
  noteFailed(keys: readonly string[]): void {
    const nowMs = this.#clock.nowMs();
    for (const key of keys) {
      const tally = this.#tallyOf(key);
      tally.failedAtMs = [...tally.failedAtMs, nowMs].slice(-FAILED_LOGINS_PER_ACCOUNT_MAX);
    }
  }

  /** Runs the work; a null result counts as a failed login. Refuses if too many logins failed recently. */
  async attempt<T>(address: string, login: string, work: () => Promise<T | null>): Promise<T | null> {
    const bounds = boundsOf(address, login);
    while (!this.#hasRoom(bounds)) await this.#waitForAttempt();
    for (const { key } of bounds) this.#tallyOf(key).pending++;
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
    // The tally may have been evicted and created again meanwhile.
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

  #waitForAttempt(): Promise<void> {
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
   * Returns the tally of a key, and creates it if necessary. Refused attempts must not get here: they could evict the
   * tallies of others.
   */
  #tallyOf(key: string): Tally {
    const tally = this.#tallies.get(key) ?? { failedAtMs: [], pending: 0 };
    tally.failedAtMs = this.#recentFailures(key);
    // Setting it again makes it the most recently used one.
    this.#tallies.set(key, tally);
    return tally;
  }
}

/** Strangers can send logins of any length, so only their hash is kept. */
function boundsOf(address: string, login: string): readonly Bound[] {
  const account = createHash('sha256').update(login).digest('base64');
  return [
    { key: `address ${networkOf(address)}`, max: FAILED_LOGINS_PER_ADDRESS_MAX },
    { key: `account ${account}`, max: FAILED_LOGINS_PER_ACCOUNT_MAX },
  ];
}

const NETWORK_GROUPS = 4;

/**
 * Returns the network an address is counted for. For IPv6 it is the 64-bit network, since one customer has a whole
 * one; an IPv4-mapped address counts as its IPv4 address.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [plain = ''] = address.split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  // The URL parser normalises the notation.
  const [left = '', right] = new URL(`http://[${plain}]/`).hostname.slice(1, -1).split('::');
  const groups = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  while (right !== undefined && groups.length + tail.length < 8) groups.push('0');
  return `${[...groups, ...tail].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
