import type { ServerResponse } from 'node:http';
import { type Clock, type Committed, elapsedMs, type Log, type PartitionKey, type Tidemark } from '@tidemark/core';
import { errorMessage, Refusal, type SyncEvents } from '@tidemark/protocol';
import { Connection, eventBytes, HEARTBEAT, type Listener } from './connection.ts';

export interface EventHubParts {
  readonly tokens: Pick<Tidemark['tokens'], 'isGood'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The longest time without an event or heartbeat. */
  readonly heartbeatMs: number;
  readonly streamsMax: number;
  /** Called when a device starts to listen here, with the time. */
  readonly onListen?: (client: string, atMs: number) => void;
}

/** Devices that listen for events now, at this server or at any. */
export interface LiveDevices {
  /** Sends a ping to the device. False: the device does not listen, or does not keep up. */
  ping(client: string, ping: SyncEvents['ping']): boolean | Promise<boolean>;
}

/** Changes within this time are sent as one event. */
const BATCH_MS = 20;
/** Connections that are written to in one turn of the event loop. */
const CONNECTIONS_PER_TURN = 200;
/** Heartbeats are spread over this number of ticks, so that no tick takes long. */
const HEARTBEAT_TICKS = 25;
/** A connection is cut off if it is behind at more heartbeats in a row. */
const HEARTBEATS_BEHIND_MAX = 2;
const RETRY_AFTER_S = 5;

/**
 * Sends events about changes to the devices that listen. Events are hints: a device that misses one notices the
 * change at its next pull, so events are neither stored nor acknowledged.
 */
export class EventHub implements LiveDevices {
  readonly #parts: EventHubParts;
  readonly #byClient = new Map<string, Connection>();
  readonly #byUser = new Map<string, Set<Connection>>();
  readonly #ticks = Array.from({ length: HEARTBEAT_TICKS }, () => new Set<Connection>());
  readonly #timer: NodeJS.Timeout;
  #tick = 0;
  #isTicking = false;
  /** Users whose tokens must be checked; null stands for all users. */
  readonly #toCheck = new Set<string | null>();
  #isChecking = false;
  #pending: PendingChanges | null = null;
  #isSending = false;
  #isClosed = false;

  constructor(parts: EventHubParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => void this.#nextTick(), Math.max(1, parts.heartbeatMs / HEARTBEAT_TICKS));
    this.#timer.unref();
  }

  /** The number of devices that listen. */
  get size(): number {
    return this.#byClient.size;
  }

  /** Refuses if there are too many streams. To be called before the answer is started. */
  requireRoom({ client }: Listener): void {
    const { streamsMax } = this.#parts;
    if (this.#isClosed) throw new Refusal('overloaded', 'the server is stopping', [], RETRY_AFTER_S);
    if (this.size < streamsMax || this.#byClient.has(client)) return;
    throw new Refusal('overloaded', `${streamsMax} devices are listening already`, [], RETRY_AFTER_S);
  }

  /**
   * Sends events to the device from now on. A device has one stream: an older one ends. Returns the function to call
   * when the device is gone.
   */
  connect(listener: Listener, response: ServerResponse): () => void {
    const connection = new Connection(listener, response, this.#parts.clock.nowMs());
    this.#byClient.get(listener.client)?.end(REPLACED);
    this.#byClient.set(listener.client, connection);
    const ofUser = this.#byUser.get(listener.user) ?? new Set();
    this.#byUser.set(listener.user, ofUser.add(connection));
    // Joins the tick that has just passed, so that the first heartbeat comes after a full interval.
    this.#ticks[(this.#tick + HEARTBEAT_TICKS - 1) % HEARTBEAT_TICKS]?.add(connection);
    connection.send(eventBytes('ready', { heartbeat_s: Math.ceil(this.#parts.heartbeatMs / 1_000) }));
    if (this.#isClosed) connection.end();
    else this.#parts.onListen?.(listener.client, connection.sinceMs);
    return () => this.#forget(connection);
  }

  /** Sends an event about the change to the devices it concerns. Changes of a few milliseconds are sent together. */
  readonly committed = ({ partition }: Committed): void => {
    if (this.size === 0 || this.#isClosed) return;
    if (this.#pending === null) {
      this.#pending = new PendingChanges();
      if (!this.#isSending) setTimeout(() => void this.#sendPending(), BATCH_MS).unref();
    }
    this.#pending.note(partition);
  };

  ping(client: string, ping: SyncEvents['ping']): boolean {
    return this.#byClient.get(client)?.send(eventBytes('ping', ping)) ?? false;
  }

  /** Tells the device that outcomes wait for it. */
  outcomes(client: string): boolean {
    return this.#byClient.get(client)?.send(OUTCOMES) ?? false;
  }

  /** Ends the stream of a device that has signed out or was deleted. */
  signOut(client: string): void {
    this.#byClient.get(client)?.end(TOKEN_ENDED);
  }

  /** Ends the stream of a device that has listened at another server since then. */
  replaced(client: string, atMs: number): void {
    const connection = this.#byClient.get(client);
    if (connection !== undefined && elapsedMs(connection.sinceMs, atMs) > 0) connection.end(REPLACED);
  }

  /** Makes all devices pull everything, because changes may have been missed. */
  async pullAll(): Promise<void> {
    await sendAll(this.#byClient.values(), PULL);
  }

  /**
   * Checks the tokens of listening devices now instead of at the next heartbeat, because tokens of the user (null: of
   * any user) may have ended. Requests during a check are served by one check afterwards.
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
      this.#parts.log.warn('recheck_failed', { reason: errorMessage(error) });
    } finally {
      this.#isChecking = false;
    }
  }

  /** Ends all streams. Devices connect again, here or elsewhere. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
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
    for (const tick of this.#ticks) tick.delete(connection);
  }

  /** Changes that arrive while events are sent are sent in the next round. */
  async #sendPending(): Promise<void> {
    this.#isSending = true;
    try {
      for (let changes = this.#takePending(); changes !== null; changes = this.#takePending()) {
        for (const [user, changed] of changes.byUser) await sendAll(this.#byUser.get(user) ?? [], bytesOf(changed));
        const shared = bytesOf(changes.shared);
        if (shared.length > 0) await sendAll(this.#byClient.values(), shared);
      }
    } finally {
      this.#isSending = false;
    }
  }

  #takePending(): PendingChanges | null {
    const changes = this.#pending;
    this.#pending = null;
    return changes;
  }

  async #nextTick(): Promise<void> {
    if (this.#isTicking) return;
    this.#isTicking = true;
    try {
      const turn = [...(this.#ticks[this.#tick] ?? [])];
      this.#tick = (this.#tick + 1) % HEARTBEAT_TICKS;
      for (const connection of turn) await this.#sendHeartbeat(connection);
    } catch (error) {
      // The next heartbeat tries again.
      this.#parts.log.warn('heartbeat_failed', { reason: errorMessage(error) });
    } finally {
      this.#isTicking = false;
    }
  }

  async #sendHeartbeat(connection: Connection): Promise<void> {
    if (connection.countHeartbeatsBehind() > HEARTBEATS_BEHIND_MAX) return connection.destroy();
    if (await this.#endIfInvalid(connection)) connection.sendIfKeepingUp(HEARTBEAT);
  }

  /** Returns false, and ends the stream, if its token is not valid any more. */
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

/** Sends the same bytes to all connections. */
async function sendAll(connections: Iterable<Connection>, bytes: Buffer): Promise<void> {
  let count = 0;
  for (const connection of [...connections]) {
    connection.send(bytes);
    if (++count % CONNECTIONS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Sources named in one round of events; with more, devices are told to pull everything. */
export const SOURCES_PER_ROUND_MAX = 50;

/** Changed sources of one user, or the shared ones. */
export type Changed = ReadonlySet<string> | 'many';

/** The changes since the last round of events. */
class PendingChanges {
  #shared: Set<string> | 'many' = new Set();
  readonly #byUser = new Map<string, Set<string> | 'many'>();

  note({ source, user }: PartitionKey): void {
    if (user === null) this.#shared = withSource(this.#shared, source);
    else this.#byUser.set(user, withSource(this.#byUser.get(user) ?? new Set(), source));
  }

  get shared(): Changed {
    return this.#shared;
  }

  /** Changes of each user's own data. */
  get byUser(): ReadonlyMap<string, Changed> {
    return this.#byUser;
  }
}

function withSource(sources: Set<string> | 'many', source: string): Set<string> | 'many' {
  if (sources === 'many') return sources;
  sources.add(source);
  return sources.size > SOURCES_PER_ROUND_MAX ? 'many' : sources;
}
