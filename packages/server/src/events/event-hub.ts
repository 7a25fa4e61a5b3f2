import type { ServerResponse } from 'node:http';
import { type Clock, type Committed, elapsedMs, type Log, type Tidemark } from '@tidemark/core';
import { Refusal, type SyncEvents } from '@tidemark/protocol';
import { Connection, type Listener } from './connection.ts';
import { eventBytes, HEARTBEAT } from './event-bytes.ts';
import { type Changed, PendingChanges } from './pending-changes.ts';

export interface EventHubParts {
  readonly tokens: Pick<Tidemark['tokens'], 'isGood'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Nobody who listens hears nothing for longer. */
  readonly heartbeatMs: number;
  readonly streamsMax: number;
  /** Hears of every device that begins to listen here, and when. */
  readonly onListen?: (client: string, atMs: number) => void;
}

/** Devices that listen for events now, at this server or at any. */
export interface LiveDevices {
  /** Sends a ping to the device. False: the device does not listen, or does not keep up. */
  ping(client: string, ping: SyncEvents['ping']): boolean | Promise<boolean>;
}

/** Changes that follow each other within this time are told together. */
const GATHER_MS = 20;
/** Connections written to before others get their turn. */
const CONNECTIONS_PER_TURN = 200;
/** Everybody's heartbeat comes in one of so many turns, so that no turn is long. */
const BEATS = 25;
/** Heartbeats in a row at which a connection may be found behind before it is cut off. */
const TURNS_BEHIND_MAX = 2;
const RETRY_AFTER_S = 5;

/**
 * Tells devices that listen what changed. These are hints: a device that misses one finds out at its next pull, so
 * nothing here is kept for anybody, and nobody waits for anybody.
 */
export class EventHub implements LiveDevices {
  readonly #parts: EventHubParts;
  readonly #byClient = new Map<string, Connection>();
  readonly #byUser = new Map<string, Set<Connection>>();
  readonly #beats = Array.from({ length: BEATS }, () => new Set<Connection>());
  readonly #beatTimer: NodeJS.Timeout;
  #beat = 0;
  #isBeating = false;
  /** Users whose tokens are to be looked at; null: everybody's. */
  readonly #toCheck = new Set<string | null>();
  #isChecking = false;
  #news: PendingChanges | null = null;
  #isTelling = false;
  #isClosed = false;

  constructor(parts: EventHubParts) {
    this.#parts = parts;
    this.#beatTimer = setInterval(() => void this.#nextBeat(), Math.max(1, parts.heartbeatMs / BEATS));
    this.#beatTimer.unref();
  }

  /** Devices that listen. */
  get size(): number {
    return this.#byClient.size;
  }

  /** Refuses when there is no room; to be asked before anything of the answer is sent. */
  requireRoom({ client }: Listener): void {
    const { streamsMax } = this.#parts;
    if (this.#isClosed) throw new Refusal('overloaded', 'the server is stopping', [], RETRY_AFTER_S);
    if (this.size < streamsMax || this.#byClient.has(client)) return;
    throw new Refusal('overloaded', `${streamsMax} devices are listening already`, [], RETRY_AFTER_S);
  }

  /**
   * From here on the device is told what changes. A device listens once: its older connection ends. Returns what must
   * be called when the device is gone.
   */
  connect(listener: Listener, response: ServerResponse): () => void {
    const connection = new Connection(listener, response, this.#parts.clock.nowMs());
    this.#byClient.get(listener.client)?.end(REPLACED);
    this.#byClient.set(listener.client, connection);
    const ofUser = this.#byUser.get(listener.user) ?? new Set();
    this.#byUser.set(listener.user, ofUser.add(connection));
    // Into the turn that has just been: the first heartbeat is a whole round away.
    this.#beats[(this.#beat + BEATS - 1) % BEATS]?.add(connection);
    connection.send(eventBytes('ready', { heartbeat_s: Math.ceil(this.#parts.heartbeatMs / 1_000) }));
    if (this.#isClosed) connection.end();
    else this.#parts.onListen?.(listener.client, connection.sinceMs);
    return () => this.#forget(connection);
  }

  /** Something changed; whom it concerns is told within a few milliseconds, once for all that change until then. */
  readonly committed = ({ partition }: Committed): void => {
    if (this.size === 0 || this.#isClosed) return;
    if (this.#news === null) {
      this.#news = new PendingChanges();
      if (!this.#isTelling) setTimeout(() => void this.#tell(), GATHER_MS).unref();
    }
    this.#news.note(partition);
  };

  ping(client: string, ping: SyncEvents['ping']): boolean {
    return this.#byClient.get(client)?.send(eventBytes('ping', ping)) ?? false;
  }

  /** Outcomes wait for the device. */
  outcomes(client: string): boolean {
    return this.#byClient.get(client)?.send(OUTCOMES) ?? false;
  }

  /** The device has signed out or is gone. */
  signOut(client: string): void {
    this.#byClient.get(client)?.end(TOKEN_ENDED);
  }

  /** The device listens at another server since then. */
  replaced(client: string, atMs: number): void {
    const connection = this.#byClient.get(client);
    if (connection !== undefined && elapsedMs(connection.sinceMs, atMs) > 0) connection.end(REPLACED);
  }

  /** Something may have changed that nobody told of: everybody is to pull everything. */
  async pullAll(): Promise<void> {
    await sendAll(this.#byClient.values(), PULL);
  }

  /**
   * Tokens of the user, or of anybody, may have ended: those of devices that listen are looked at now, not only at the
   * next heartbeat. What is asked for while others are looked at is done afterwards, once.
   */
  async recheck(user: string | null): Promise<void> {
    this.#toCheck.add(user);
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      while (this.#toCheck.size > 0 && !this.#isClosed) {
        for (const connection of this.#takeToCheck()) await this.#endIfInvalid(connection);
      }
    } catch (error) {
      this.#parts.log.warn('recheck_failed', { reason: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#isChecking = false;
    }
  }

  /** Ends all streams. Devices connect again, here or elsewhere. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#beatTimer);
    for (const connection of this.#byClient.values()) connection.end();
  }

  #takeToCheck(): readonly Connection[] {
    const users = [...this.#toCheck];
    this.#toCheck.clear();
    if (users.includes(null)) return [...this.#byClient.values()];
    return users.flatMap((user) => [...(this.#byUser.get(user ?? '') ?? [])]);
  }

  #forget(connection: Connection): void {
    const { client, user } = connection.listener;
    if (this.#byClient.get(client) === connection) this.#byClient.delete(client);
    const ofUser = this.#byUser.get(user);
    ofUser?.delete(connection);
    if (ofUser?.size === 0) this.#byUser.delete(user);
    for (const beat of this.#beats) beat.delete(connection);
  }

  /** What changes while others are told is told in the next round. */
  async #tell(): Promise<void> {
    this.#isTelling = true;
    try {
      for (let news = this.#takeNews(); news !== null; news = this.#takeNews()) {
        for (const [user, changed] of news.byUser) await sendAll(this.#byUser.get(user) ?? [], bytesOf(changed));
        const shared = bytesOf(news.shared);
        if (shared.length > 0) await sendAll(this.#byClient.values(), shared);
      }
    } finally {
      this.#isTelling = false;
    }
  }

  #takeNews(): PendingChanges | null {
    const news = this.#news;
    this.#news = null;
    return news;
  }

  async #nextBeat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    try {
      const turn = [...(this.#beats[this.#beat] ?? [])];
      this.#beat = (this.#beat + 1) % BEATS;
      for (const connection of turn) await this.#beatFor(connection);
    } catch (error) {
      // A store that does not answer now does at the next beat, or the server has other worries.
      this.#parts.log.warn('heartbeat_failed', { reason: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#isBeating = false;
    }
  }

  async #beatFor(connection: Connection): Promise<void> {
    if (connection.countTurnsBehind() > TURNS_BEHIND_MAX) return connection.destroy();
    if (await this.#endIfInvalid(connection)) connection.sendIfKeepingUp(HEARTBEAT);
  }

  /** False: its token was not good any more. */
  async #endIfInvalid(connection: Connection): Promise<boolean> {
    const isGood = await this.#parts.tokens.isGood(connection.listener.tokenId, this.#parts.clock.nowMs());
    if (!isGood) connection.end(TOKEN_ENDED);
    return isGood;
  }
}

const TOKEN_ENDED = eventBytes('ended', { code: 'token_invalid' });
const REPLACED = eventBytes('ended', { code: 'replaced' });
const OUTCOMES = eventBytes('outcomes', {});
const PULL = eventBytes('pull', {});

function bytesOf(changed: Changed): Buffer {
  if (changed === 'many') return PULL;
  return Buffer.concat([...changed].map((source) => eventBytes('changed', { source })));
}

/** All of them get the same bytes. Whoever comes or goes meanwhile may or may not. */
async function sendAll(connections: Iterable<Connection>, bytes: Buffer): Promise<void> {
  let count = 0;
  for (const connection of [...connections]) {
    connection.send(bytes);
    if (++count % CONNECTIONS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
