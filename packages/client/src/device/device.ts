import type { AttributesOfSource, JsonValue, SourceTypes, Untyped, UntypedName } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { CallLog } from '../debug/call-log.ts';
import type { DebugOptions, DebugReport } from '../debug/debug-report.ts';
import type { SourcesOnDisk } from '../disk/sources-on-disk.ts';
import type { DeviceHost } from '../engine/device-host.ts';
import type { DeviceEvents } from '../engine/device-listeners.ts';
import type { Credentials } from '../engine/sessions.ts';
import type { DeviceStatus } from '../engine/status.ts';
import { CLOSE_MS_MAX } from '../limits.ts';
import type { RelativesOf } from '../queries/query-options.ts';
import type { DeviceQueries } from '../queries/source-queries.ts';
import { Draft } from '../replica/draft.ts';
import type { OutputOf, StandardSchema } from '../schemas/standard-schema.ts';
import { inVersionOfApp } from '../state/problem-in-version.ts';
import type { Attributes } from '../state/rows.ts';
import type { Observable } from '../view/observable.ts';
import { DeviceFiles } from './device-files.ts';
import { Source } from './source.ts';
import { UploadProblems, UploadQueue } from './upload-lists.ts';

/** Attributes of the device for the server, see docs/reference/sync-protocol.md. */
export type DeviceAttributes = Readonly<Record<string, string | number | null>>;

/** What the app declares about a source. */
export interface SourceOptions<S extends StandardSchema = StandardSchema> {
  /** Types the attributes, and checks what is written here before anything else. Data of the server is not checked. */
  readonly schema?: S;
  /** Paths to index: queries that compare them look at the objects that match instead of at all. */
  readonly indexes?: readonly string[];
  /**
   * Where the objects are kept: all in memory, or on the disk of a store that can, so that a device may have more than fit into
   * memory. To be said before the source is read. It holds until the app says something else, also after restarts; a source of
   * which it has never said anything is in memory.
   */
  readonly keep?: 'memory' | 'disk';
}

/** Synchronised objects: the app reads, changes and observes them with or without a network. */
export class Device<S extends SourceTypes = Untyped> {
  readonly status: Observable<DeviceStatus>;
  readonly uploads: UploadQueue;
  readonly problems: UploadProblems;
  readonly files: DeviceFiles;
  readonly #host: DeviceHost;
  readonly #log: CallLog;
  readonly #sources = new Map<string, Source<object>>();
  readonly #queries: DeviceQueries;
  /** Null: the store cannot keep sources on the disk. */
  readonly #disk: SourcesOnDisk | null;
  readonly #schemas = new Map<string, StandardSchema>();
  #closing: Promise<void> | null = null;

  constructor(host: DeviceHost, log: CallLog, queries: DeviceQueries, disk: SourcesOnDisk | null) {
    this.#host = host;
    this.#log = log;
    this.#queries = queries;
    this.#disk = disk;
    disk?.connect(queries);
    this.status = { getSnapshot: () => host.role.status, subscribe: host.listeners.status.add };
    this.uploads = new UploadQueue(host);
    this.problems = new UploadProblems(host);
    this.files = new DeviceFiles(host);
  }

  /**
   * Returns the same object for the same name. A source that the server does not know is empty. What the options declare
   * holds from then on.
   */
  source<T extends StandardSchema>(
    name: UntypedName<S>,
    options: SourceOptions<T> & { readonly schema: T },
  ): Source<OutputOf<T> & object>;
  source<A extends object = Attributes>(name: UntypedName<S>, options?: SourceOptions): Source<A>;
  source<N extends keyof S & string>(
    name: N,
    options?: SourceOptions,
  ): Source<AttributesOfSource<S, N>, RelativesOf<S, N>>;
  source<A extends object>(name: string, options: SourceOptions = {}): Source<A> {
    if (options.keep !== undefined) this.#keep(name, options.keep);
    for (const path of options.indexes ?? []) this.#queries.addIndex(name, path);
    if (options.schema !== undefined) this.#schemas.set(name, options.schema);
    const known = this.#sources.get(name);
    if (known !== undefined) return known as unknown as Source<A>;
    const source = new Source<A>(this.#host, { name, queries: this.#queries }, (change) => this.write(change));
    this.#sources.set(name, source as unknown as Source<object>);
    return source;
  }

  #keep(name: string, where: 'memory' | 'disk'): void {
    if (this.#disk !== null) this.#disk.keep(name, where);
    else if (where === 'disk') {
      const instead =
        'open the device with a SQLite store (@tidemark/sqlite), not within encryptedStore, or keep the source in memory';
      throw clientError('disk_unsupported', `the store of this device cannot keep ${name} on the disk: ${instead}`);
    }
  }

  /** The names of the user's sources that the device knows of. */
  sourceNames(): readonly string[] {
    return [...this.#host.sourceNames()].sort();
  }

  /**
   * Makes changes to any number of objects and sources together: the app sees all of them at once, before this call
   * returns, and if one is refused, none is made. Resolves when they are stored; if the local store refuses them, they
   * are taken back and the promise rejects. `change` must not be asynchronous. It is called again if it needs an object that
   * is not loaded yet (`status.isLoading`, or a source on the disk); nothing of the first call counts then.
   */
  async write<T>(change: (draft: Draft<S>) => T): Promise<T> {
    const { replica, writes } = this.#host;
    let { draft, result, error } = this.#draft(change);
    if (draft.isUncertain) {
      await replica.loaded;
      ({ draft, result, error } = this.#draft(change));
    }
    const needed = new Map<string, Set<string>>();
    while (draft.missing.size > 0) {
      // Also those of the calls before, which would leave the memory for the others.
      for (const [source, ids] of draft.missing) needed.set(source, new Set([...(needed.get(source) ?? []), ...ids]));
      for (const [source, ids] of needed) await replica.view(source).load([...ids]);
      ({ draft, result, error } = this.#draft(change));
    }
    if (error !== undefined) throw error.cause;
    const { uploads } = draft;
    await writes.write(uploads, (tx) => draft.requireAssumed(tx));
    if (uploads.length > 0) this.#host.role.onWritten();
    return result as T;
  }

  /** Returns what the change did; `error` if it was refused. */
  #draft<T>(change: (draft: Draft<S>) => T): { draft: Draft<S>; result?: T; error?: { readonly cause: unknown } } {
    const draft = new Draft<S>(this.#host, this.#schemas);
    try {
      return { draft, result: change(draft) };
    } catch (cause) {
      return { draft, error: { cause } };
    }
  }

  /**
   * Signs in, also after the session has ended. Data of another user is deleted; if that would lose changes made
   * here, it is refused with `uploads_pending` unless they are to be discarded.
   */
  async signIn(credentials: Credentials, options: { readonly discardUploads?: boolean } = {}): Promise<void> {
    await this.#host.run('signIn', credentials, options.discardUploads === true);
  }

  /**
   * Deletes the user's data. It is refused while changes have not reached the server, unless they are to be
   * discarded.
   */
  async signOut(options: { readonly discardUploads?: boolean } = {}): Promise<void> {
    await this.#host.run('signOut', options.discardUploads === true);
  }

  /**
   * Resolves when the changes made so far are sent and the device has the current state of the server, and has confirmed
   * that if the server answers soon. It rejects if that fails this time; the device continues to retry.
   */
  sync(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return untilAborted(options.signal, () => this.#host.run('sync'));
  }

  /**
   * Fetches everything again, for example when an app suspects that its data is wrong. The app sees what it saw until
   * everything has come, and changes that wait to be sent stay. Resolves when that has begun; `sync` waits for it.
   */
  async startOver(): Promise<void> {
    await this.#host.run('startOver');
  }

  /** Uses no network until `goOnline`. */
  goOffline(): void {
    void this.#host.run('keepOffline', true);
  }

  goOnline(): void {
    void this.#host.run('keepOffline', false);
  }

  /** Returns the unsubscribe function. */
  on<E extends keyof DeviceEvents>(event: E, listener: (data: DeviceEvents[E]) => void): () => void {
    const { events } = this.#host.listeners;
    if (event !== 'problem') return events[event].add(listener);
    const tell = listener as (problem: DeviceEvents['problem']) => void;
    return events.problem.add(({ opId, ...problem }) => {
      tell({ opId, ...inVersionOfApp(this.#host.replica.reader, problem) });
    });
  }

  /** Sends attributes of the device to the server: its push address, its app. */
  async describe(attributes: DeviceAttributes): Promise<void> {
    await this.#host.run('describe', attributes);
  }

  /** Searches in the source's backend; the result is not stored. */
  async search<N extends keyof S & string>(
    source: N,
    params: JsonValue,
  ): Promise<ReadonlyMap<string, AttributesOfSource<S, N>>> {
    const found = await this.#host.run('search', source, params);
    const { reader } = this.#host.replica;
    const row = reader.get('sources', ['', source]);
    const shown = found.map(
      ([id, attributes]) => [id, reader.versions?.answered(row, attributes) ?? attributes] as const,
    );
    return new Map(shown) as ReadonlyMap<string, AttributesOfSource<S, N>>;
  }

  /** Returns the state of the device for a bug ticket, as JSON: no data unless it is asked for, and never a token. */
  async debug(options: DebugOptions = {}): Promise<DebugReport> {
    // Loaded only where it is used.
    const { debugReport } = await import('../debug/debug-report.ts');
    return debugReport(this.#host, this.#log, options);
  }

  /**
   * Stops all work when earlier changes are stored; stored data stays. What the device holds is confirmed to the server if
   * that takes no time. Rejects with `store_failed` if the store does not
   * answer for long. The device is closed then as well, and goes on storing those changes if the store does answer; who
   * calls again waits for that.
   */
  close(): Promise<void> {
    const detail = 'the local store has not answered, so changes that were not reported as stored may be lost';
    return new Promise((resolve, reject) => {
      const late = () => reject(clientError('store_failed', detail));
      const cancel = this.#host.platform.after(CLOSE_MS_MAX, late);
      this.#closing ??= this.#close();
      this.#closing.finally(cancel).then(resolve, reject);
    });
  }

  async #close(): Promise<void> {
    await this.#queries.recorder?.close();
    await this.#host.close();
  }
}

/** Rejects when the signal is aborted; the work continues. */
function untilAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (signal === undefined) return work();
  const aborted = () => clientError('aborted', 'the caller stopped waiting for the sync');
  if (signal.aborted) return Promise.reject(aborted());
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(aborted()));
    work().then(resolve, reject);
  });
}
