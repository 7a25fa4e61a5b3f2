import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { type Bearers, type Clock, type Committed, elapsedMs, type Log, type Tidemark } from '@tidemark/core';
import { errorMessage, Refusal, type SyncEvents } from '@tidemark/protocol';
import { ChangeEventMaker, type ChangeEvents, type ReadLivePage } from './change-events.ts';
import { Connection, eventBytes, HEARTBEAT, type Listener } from './connection.ts';
import { Heartbeats } from './heartbeats.ts';
import { pageSelection } from './page-selection.ts';
import { type Changed, PendingChanges } from './pending-changes.ts';

export interface EventHubParts {
  readonly bearers: Pick<Bearers, 'isGood'>;
  readonly clients: Pick<Tidemark['clients'], 'isWiped'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The longest time without an event or heartbeat. */
  readonly heartbeatMs: number;
  readonly streamsMax: number;
  /** Streams of the devices of one user. */
  readonly streamsPerUserMax: number;
  /** Reads the pages that events carry. Absent: events are hints only. */
  readonly readLivePage?: ReadLivePage;
  /** Called when a device starts to listen here, with the time. */
  readonly onListen?: (client: string, atMs: number) => void;
}

/** Devices that listen for events now, at this server or at any. */
export interface LiveDevices {
  /** Sends a ping to the device. False: the device does not listen, or does not keep up. */
  ping(client: string, ping: SyncEvents['ping']): boolean | Promise<boolean>;
}

/** The same, and which of them listen. */
export interface ListeningDevices extends LiveDevices {
  isListening(client: string): boolean | Promise<boolean>;
}

/** The first change is announced at once. Those within this time after it are announced together. */
const BATCH_MS = 20;
/** Connections that are written to in one turn of the event loop. */
const CONNECTIONS_PER_TURN = 200;
/** A connection is cut off if it is behind at more heartbeats in a row. */
const HEARTBEATS_BEHIND_MAX = 2;
const RETRY_AFTER_S = 5;

/**
 * Sends events about changes to the devices that listen. Small changes are sent with the event, as the page that devices
 * would pull. Events are hints: a device that misses one, or cannot apply it, gets the change with its next pull, so
 * events are neither stored nor acknowledged.
 */
export class EventHub implements LiveDevices {
  readonly #parts: EventHubParts;
  readonly #byClient = new Map<string, Connection>();
  readonly #byUser = new Map<string, Set<Connection>>();
  readonly #heartbeats: Heartbeats;
  /** Users whose tokens must be checked; null stands for all users. */
  readonly #toCheck = new Set<string | null>();
  #isChecking = false;
  readonly #changeEvents: ChangeEventMaker;
  #pending: PendingChanges | null = null;
  #isSending = false;
  #isClosed = false;

  constructor(parts: EventHubParts) {
    this.#parts = parts;
    this.#changeEvents = new ChangeEventMaker(parts.readLivePage ?? (async () => null), parts.log);
    this.#heartbeats = new Heartbeats({
      everyMs: parts.heartbeatMs,
      beat: (connection) => this.#sendHeartbeat(connection),
      onFailed: (error) => parts.log.warn('heartbeat_failed', { reason: errorMessage(error) }),
    });
  }

  /** The number of devices that listen. */
  get size(): number {
    return this.#byClient.size;
  }

  /** Refuses if there are too many streams, of the user or of all. To be called before the answer is started. */
  requireRoom({ user, client }: Listener): void {
    const { streamsMax, streamsPerUserMax } = this.#parts;
    if (this.#isClosed) throw new Refusal('overloaded', 'the server is stopping', [], RETRY_AFTER_S);
    if (this.#byClient.has(client)) return;
    if ((this.#byUser.get(user)?.size ?? 0) >= streamsPerUserMax) {
      const detail = `${streamsPerUserMax} devices of the user are listening already`;
      throw new Refusal('rate_limited', detail, [], RETRY_AFTER_S);
    }
    if (this.size < streamsMax) return;
    throw new Refusal('overloaded', `${streamsMax} devices are listening already`, [], RETRY_AFTER_S);
  }

  /**
   * Sends events to the device from now on, with the pages of these sources. A device has one stream: an older one ends.
   * Returns the function to call when the device is gone.
   */
  connect(listener: Listener, response: ServerResponse, pages: readonly string[] = []): () => void {
    const terms = { sinceMs: this.#parts.clock.nowMs(), pages: pageSelection(pages) };
    const connection = new Connection(listener, response, terms);
    this.#byClient.get(listener.client)?.end(REPLACED);
    this.#byClient.set(listener.client, connection);
    const ofUser = this.#byUser.get(listener.user) ?? new Set();
    this.#byUser.set(listener.user, ofUser.add(connection));
    this.#heartbeats.add(connection);
    connection.send(eventBytes('ready', { heartbeat_s: Math.ceil(this.#parts.heartbeatMs / 1_000) }));
    if (this.#isClosed) connection.end();
    else this.#parts.onListen?.(listener.client, connection.sinceMs);
    return () => this.#forget(connection);
  }

  /** Announces the change to the devices it concerns. Changes of a few milliseconds are announced together. */
  readonly committed = ({ partition, range }: Committed): void => {
    if (this.#isClosed) return;
    if (this.size === 0) {
      this.#changeEvents.forget();
      return;
    }
    this.#pending ??= new PendingChanges();
    this.#pending.note(partition, range ?? null);
    if (!this.#isSending) void this.#sendPending();
  };

  isListening(client: string): boolean {
    return this.#byClient.has(client);
  }

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
    this.#changeEvents.forget();
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
    this.#heartbeats.close();
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
    this.#heartbeats.remove(connection);
  }

  /** Changes that arrive while events are sent are sent in the next round. */
  async #sendPending(): Promise<void> {
    this.#isSending = true;
    try {
      await nextTurn();
      for (let changes = this.#takePending(); changes !== null; changes = this.#takePending()) {
        const byUser = Array.from(changes.byUser, ([user, changed]) => this.#sendChanged(user, changed));
        await Promise.all([...byUser, this.#sendChanged(null, changes.shared)]);
        await pause(BATCH_MS, undefined, { ref: false });
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** `user` is null for shared data. */
  async #sendChanged(user: string | null, changed: Changed): Promise<void> {
    const listening = () => [...(user === null ? this.#byClient.values() : (this.#byUser.get(user) ?? []))];
    if (changed === 'many') {
      this.#changeEvents.forget();
      return sendAll(listening(), PULL);
    }
    const isWanted = (source: string) => listening().some(({ pages }) => pages?.has(source));
    const events = await this.#changeEvents.make(user, changed, isWanted);
    if (!events.isEmpty) await this.#sendEvents(listening(), events);
  }

  /** Sends the page of a change only to devices whose token is valid after the page was read. */
  async #sendEvents(connections: readonly Connection[], events: ChangeEvents): Promise<void> {
    for (let start = 0; start < connections.length; start += CONNECTIONS_PER_TURN) {
      const some = connections.slice(start, start + CONNECTIONS_PER_TURN);
      await Promise.all(
        some.map(async (connection) => {
          const { pages } = connection;
          const getsPage = events.hasPagesFor(pages) && connection.isKeepingUp && (await this.#isValid(connection));
          connection.send(events.bytesFor(getsPage ? pages : null));
        }),
      );
      await nextTurn();
    }
  }

  /** Like `#endIfInvalid`. False also if the store does not answer. */
  async #isValid(connection: Connection): Promise<boolean> {
    try {
      return await this.#endIfInvalid(connection);
    } catch (error) {
      this.#parts.log.warn('recheck_failed', { reason: errorMessage(error) });
      return false;
    }
  }

  #takePending(): PendingChanges | null {
    const changes = this.#pending;
    this.#pending = null;
    return changes;
  }

  async #sendHeartbeat(connection: Connection): Promise<void> {
    if (connection.countHeartbeatsBehind() > HEARTBEATS_BEHIND_MAX) return connection.destroy();
    if (await this.#endIfInvalid(connection)) connection.sendIfKeepingUp(HEARTBEAT);
  }

  /** Returns false, and ends the stream, if its token is not valid any more or the device is to be wiped. */
  async #endIfInvalid(connection: Connection): Promise<boolean> {
    const { bearers, clients, clock } = this.#parts;
    const { tokenHash, client } = connection.listener;
    const [isGood, isWiped] = await Promise.all([bearers.isGood(tokenHash, clock.nowMs()), clients.isWiped(client)]);
    if (!isGood) connection.end(TOKEN_ENDED);
    else if (isWiped) connection.end(WIPED);
    return isGood && !isWiped;
  }
}

const TOKEN_ENDED = eventBytes('ended', { code: 'token_invalid' });
const WIPED = eventBytes('ended', { code: 'client_wiped' });
const REPLACED = eventBytes('ended', { code: 'replaced' });
const OUTCOMES = eventBytes('outcomes', {});
const PULL = eventBytes('pull', {});

/** Sends the same bytes to all connections. */
async function sendAll(connections: Iterable<Connection>, bytes: Buffer): Promise<void> {
  let count = 0;
  for (const connection of [...connections]) {
    connection.send(bytes);
    if (++count % CONNECTIONS_PER_TURN === 0) await nextTurn();
  }
}
