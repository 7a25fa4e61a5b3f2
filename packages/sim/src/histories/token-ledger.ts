import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';

export interface TokenBase {
  readonly time: number;
  readonly head: number;
  /** False: writes ran at the same time, and how many of them the token includes is not known. */
  readonly isCertain: boolean;
}

/** What the simulation knows about a token of the server. Tokens are opaque, so it learns by watching pulls. */
export interface TokenIssue {
  readonly generation: string;
  /** False: nothing had ever been written to the partition, and the first write begins its epoch. */
  readonly written: boolean;
  /** The token that the device sent to get this one. */
  readonly askedWith: string | null;
  /** Oracle time and head of the last `more: false` before this token; null while the device starts over. */
  readonly base: TokenBase | null;
  /** The oracle time of the state from which the page of the token was made. */
  readonly readAt: number;
  /** True: writes were lost that this state included. */
  readonly isLost: boolean;
  /** A trim since then may force the server to start this device over. */
  readonly isAtRisk: boolean;
}

interface SeenToken {
  readonly token: string;
  readonly atMs: number;
}

/** What a device has acknowledged: a base, nothing (null), or something in another epoch of the partition. */
export type Acknowledged = TokenIssue['base'] | 'other_epoch';

/** All tokens that the server issued and all tokens that devices sent, by partition. */
export class TokenLedger {
  readonly #issues = new Map<string, Map<string, TokenIssue>>();
  readonly #seen = new Map<string, Map<string, SeenToken>>();
  readonly #acknowledged = new Map<string, Map<string, Acknowledged>>();
  readonly #sent = new Map<string, Map<string, number>>();

  issue(partition: ModelPartition, token: string, issue: TokenIssue): void {
    within(this.#issues, partition).set(token, issue);
  }

  find(partition: ModelPartition, token: string | null): TokenIssue | undefined {
    return token === null ? undefined : within(this.#issues, partition).get(token);
  }

  /** Records that the server saw this device with this token. */
  recordSeen(partition: ModelPartition, client: string, seenToken: SeenToken): void {
    within(this.#seen, partition).set(client, seenToken);
  }

  /** Records that the server no longer knows the position of this device. */
  forgetClient(partition: ModelPartition, client: string): void {
    within(this.#seen, partition).delete(client);
    within(this.#acknowledged, partition).delete(client);
    within(this.#sent, partition).delete(client);
  }

  /** Records what the device has acknowledged by a pull that ran alone; null: it was told to start over, or is. */
  recordAcknowledged(partition: ModelPartition, client: string, base: TokenIssue['base']): void {
    within(this.#acknowledged, partition).set(client, base);
  }

  /** Records that the device was sent everything as of an oracle time. */
  recordSent(partition: ModelPartition, client: string, time: number): void {
    within(this.#sent, partition).set(client, time);
  }

  /** Records that the device may have been sent everything, by an answer that nobody has looked at. */
  recordMaybeSent(partition: ModelPartition, client: string): void {
    this.recordSent(partition, client, Number.POSITIVE_INFINITY);
  }

  /** The oracle time as of which the device was last sent everything; undefined: it never was in this generation. */
  sent(partition: ModelPartition, client: string): number | undefined {
    return within(this.#sent, partition).get(client);
  }

  /** Call it before a pull whose place among others is not known. */
  forgetAcknowledged(partition: ModelPartition, client: string): void {
    within(this.#acknowledged, partition).delete(client);
  }

  /** What devices have acknowledged, for those of which that is certain. */
  acknowledged(partition: ModelPartition): ReadonlyMap<string, Acknowledged> {
    return within(this.#acknowledged, partition);
  }

  /** Records that the positions of these devices belong to another epoch now. Trims no longer wait for them. */
  outdate(partition: ModelPartition, clients: readonly string[]): void {
    const acknowledged = within(this.#acknowledged, partition);
    for (const client of clients) {
      within(this.#seen, partition).delete(client);
      if (acknowledged.has(client)) acknowledged.set(client, 'other_epoch');
    }
  }

  forgetPartition(partition: ModelPartition): void {
    this.#seen.delete(partitionText(partition));
    this.#acknowledged.delete(partitionText(partition));
    this.#sent.delete(partitionText(partition));
  }

  /** Records that all writes after an oracle time are lost, and with them what the server knew of devices since then. */
  fallBack(partition: ModelPartition, time: number): void {
    const issues = within(this.#issues, partition);
    for (const [token, issue] of issues) if (issue.readAt > time) issues.set(token, { ...issue, isLost: true });
    this.forgetPartition(partition);
  }

  /** Call it after a trim that ignored the positions of devices. */
  putAllAtRisk(partition: ModelPartition): void {
    this.#putAtRisk(partition, () => false);
  }

  /**
   * Call it after a trim by tidemarks. Such a trim spares devices seen within the retention: the token that the device
   * sent last, and the tokens that it got in return, stay good. A time in the future, seen before the clock was set back,
   * counts as recent as well.
   */
  putUnseenAtRisk(partition: ModelPartition, nowMs: number, retentionMs: number): void {
    const recent = new Set<string>();
    for (const { token, atMs } of within(this.#seen, partition).values()) {
      if (Math.abs(nowMs - atMs) < retentionMs) recent.add(token);
    }
    this.#putAtRisk(
      partition,
      (token, { askedWith }) => recent.has(token) || (askedWith !== null && recent.has(askedWith)),
    );
  }

  /** Returns tokens of other partitions, which this one must not accept. */
  foreign(partition: ModelPartition): string[] {
    const others = [...this.#issues].filter(([key]) => key !== partitionText(partition));
    return others.flatMap(([, issues]) => [...issues].filter(([, { written }]) => written).map(([token]) => token));
  }

  #putAtRisk(partition: ModelPartition, isSafe: (token: string, issue: TokenIssue) => boolean): void {
    const issues = within(this.#issues, partition);
    for (const [token, issue] of issues) {
      if (!isSafe(token, issue)) issues.set(token, { ...issue, isAtRisk: true });
    }
  }
}

function within<T>(byPartition: Map<string, Map<string, T>>, partition: ModelPartition): Map<string, T> {
  const key = partitionText(partition);
  const known = byPartition.get(key) ?? new Map<string, T>();
  byPartition.set(key, known);
  return known;
}
