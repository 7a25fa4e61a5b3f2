import type {
  Attributes,
  Device,
  DeviceStatus,
  Include,
  Observable,
  PagesOptions,
  PendingUpload,
  QueriedObject,
  Query,
  QueryOptions,
  Relatives,
  Source,
  SyncedObject,
  UploadProblem,
} from '@tidemark/client';
import { useMemo, useSyncExternalStore } from 'react';
import { useDevice, useMaybeDevice } from './provider.ts';
import { readPromise } from './read-promise.ts';
import type {
  AnyName,
  RegisteredAttributes,
  RegisteredDevice,
  RegisteredName,
  RegisteredRelatives,
  RegisteredSource,
} from './register.ts';

/** A source by its name, or the `Source` itself, which brings its type. */
type SourceRef<A extends object> = AnyName | Source<A>;

const NONE: readonly never[] = Object.freeze([]);
const noListener = () => () => undefined;

/** What `useSyncStatus` returns while a server renders, and until the page is hydrated. */
const SERVER_STATUS: DeviceStatus = Object.freeze({
  mode: 'offline',
  userId: null,
  clientId: null,
  isOnline: false,
  isLive: false,
  isSyncing: false,
  pendingUploads: 0,
  problems: 0,
  progress: null,
  lastSyncedAtMs: null,
  sessionEnd: null,
  error: null,
  retryAtMs: null,
  sourceTroubles: new Map(),
  heals: 0,
  tab: null,
  isLoading: false,
}) as DeviceStatus;

/** Follows a value; `initial` is what the server renders, where there is no device. */
export function useObservable<T>(observable: Observable<T> | null, initial: T): T {
  const getServerSnapshot = () => initial;
  return useSyncExternalStore(
    observable?.subscribe ?? noListener,
    observable?.getSnapshot ?? getServerSnapshot,
    getServerSnapshot,
  );
}

function sourceOf<A extends object>(device: RegisteredDevice, source: SourceRef<A>): Source<A> {
  return typeof source === 'string' ? device.source<A>(source) : source;
}

function useQueryOf<A extends object, I extends Include>(
  source: SourceRef<A>,
  options: QueryOptions<A, I> | undefined,
): Query<QueriedObject<A, I>> | null {
  const device = useMaybeDevice();
  // The device gives the same query for the same options.
  return device && sourceOf(device, source).query<I>(options);
}

/** Options of a query with relations. */
type Including<A, I extends Include> = QueryOptions<A, I> & { readonly include: I };

type ToOne = Readonly<Record<string, string | { readonly source: string; readonly via: string }>>;
type ToMany = Readonly<Record<string, { readonly source: string; readonly by: string }>>;

/** For an app without registered types: a source is a name or a `Source`. */
interface AnyUseQuery {
  <A extends object, R extends Relatives, const I extends Include<R>>(
    source: Source<A, R>,
    options: Including<A, I>,
  ): readonly QueriedObject<A, I, R>[];
  <A extends object = Attributes, const I extends Include = never>(
    source: SourceRef<A>,
    options: Including<A, I>,
  ): readonly QueriedObject<A, I>[];
  <A extends object>(source: SourceRef<A>, options: Including<A, ToOne>): readonly QueriedObject<A, ToOne>[];
  <A extends object>(source: SourceRef<A>, options: Including<A, ToMany>): readonly QueriedObject<A, ToMany>[];
  <A extends object = Attributes>(source: SourceRef<A>, options?: QueryOptions<A, never>): readonly SyncedObject<A>[];
  <A extends object = Attributes>(
    source: SourceRef<A>,
    options?: QueryOptions<A, Include>,
  ): readonly QueriedObject<A, Include>[];
}

/** For an app with registered types: every source is known by its name. */
interface RegisteredUseQuery {
  <A extends object, R extends Relatives, const I extends Include<R> = Record<never, never>>(
    source: Source<A, R>,
    options?: QueryOptions<A, I>,
  ): readonly QueriedObject<A, I, R>[];
  <N extends RegisteredName, const I extends Include<RegisteredRelatives<N>> = Record<never, never>>(
    source: N,
    options?: QueryOptions<RegisteredAttributes<N>, I>,
  ): readonly QueriedObject<RegisteredAttributes<N>, I, RegisteredRelatives<N>>[];
}

/** Apart, so that an app reads only of what it can call when a call is wrong. */
type UseQuery = [RegisteredName] extends [never] ? AnyUseQuery : RegisteredUseQuery;

/**
 * Returns the result of a query, and renders again when it changes. Given a `Source`, or the name of a registered one, or no type, it
 * knows the type of every relation. With the type of the objects alone, TypeScript does not infer the relations: they are objects
 * without a type.
 */
export const useQuery: UseQuery = <A extends object>(
  source: SourceRef<A>,
  options?: QueryOptions<A, Include>,
): never => {
  // The signatures say what it is.
  return useObservable<readonly QueriedObject<A, Include>[]>(useQueryOf(source, options), NONE) as never;
};

/**
 * As `useQuery`, but the component suspends until the first sync of the device is over, or cannot go on, and
 * while stored objects are loaded if there is nothing to show yet.
 */
export const useSuspenseQuery: UseQuery = <A extends object>(
  source: SourceRef<A>,
  options?: QueryOptions<A, Include>,
): never => {
  const device = useMaybeDevice();
  const rows = useQuery(source, options);
  const query = useQueryOf(source, options);
  if (device !== null && (isFirstSync(device) || (rows.length === 0 && isStarting(device))))
    readPromise(firstSyncOf(device));
  if (query !== null && rows.length === 0) {
    if (query.isLoading) readPromise(loadingOf(query));
    else loadings.delete(query);
  }
  return rows as never;
};

/** Returns how many objects match, whatever `limit` and `offset` leave out. */
export function useCount<N extends RegisteredName>(
  source: N,
  options?: QueryOptions<RegisteredAttributes<N>, Record<never, never>>,
): number;
export function useCount<A extends object = Attributes>(
  source: SourceRef<A>,
  options?: QueryOptions<A, Record<never, never>>,
): number;
export function useCount<A extends object>(
  source: SourceRef<A>,
  options?: QueryOptions<A, Record<never, never>>,
): number {
  return useObservable(useQueryOf(source, options)?.total ?? null, 0);
}

/** True until the first result of a query is there, which takes a moment for sources on the disk. */
export function useIsLoading<N extends RegisteredName>(
  source: N,
  options?: QueryOptions<RegisteredAttributes<N>, Include>,
): boolean;
export function useIsLoading<A extends object = Attributes>(
  source: SourceRef<A>,
  options?: QueryOptions<A, Include>,
): boolean;
export function useIsLoading<A extends object>(source: SourceRef<A>, options?: QueryOptions<A, Include>): boolean {
  const query = useQueryOf(source, options);
  const observable = useMemo(
    () => query && { subscribe: query.subscribe, getSnapshot: () => query.isLoading },
    [query],
  );
  return useObservable(observable, true);
}

/** What `usePages` returns. */
export interface ShownPages<T> {
  readonly rows: readonly T[];
  /** True until the first page is there. */
  readonly isLoading: boolean;
  /** True if another page follows. */
  readonly hasMore: boolean;
  /** Shows one page more. */
  readonly more: () => void;
}

/** Returns a long list that grows page by page, and renders again when what it shows changes. Other options begin anew. */
export function usePages<N extends RegisteredName>(
  source: N,
  options: PagesOptions<RegisteredAttributes<N>, never>,
): ShownPages<SyncedObject<RegisteredAttributes<N>>>;
export function usePages<A extends object = Attributes>(
  source: SourceRef<A>,
  options: PagesOptions<A, never>,
): ShownPages<SyncedObject<A>>;
export function usePages<A extends object>(
  source: SourceRef<A>,
  options: PagesOptions<A, never>,
): ShownPages<SyncedObject<A>> {
  const device = useMaybeDevice();
  const found = device && sourceOf(device, source);
  const key = JSON.stringify(options);
  const pages = useMemo(
    () => found?.pages<Record<never, never>>(JSON.parse(key) as PagesOptions<A, Record<never, never>>),
    [found, key],
  );
  const rows = useObservable<readonly SyncedObject<A>[]>(pages as Observable<readonly SyncedObject<A>[]> | null, NONE);
  const more = () => void pages?.more();
  return { rows, isLoading: pages?.isLoading ?? true, hasMore: pages?.hasMore ?? false, more };
}

/** Returns an object, and renders again when it changes; undefined: there is none, or it is being read from the disk. */
export function useObject<N extends RegisteredName>(
  source: N,
  id: string,
): SyncedObject<RegisteredAttributes<N>> | undefined;
export function useObject<A extends object = Attributes>(source: SourceRef<A>, id: string): SyncedObject<A> | undefined;
export function useObject<A extends object>(source: SourceRef<A>, id: string): SyncedObject<A> | undefined {
  const device = useMaybeDevice();
  const found = device && sourceOf(device, source);
  const observable = useMemo(
    () =>
      found && { subscribe: (listener: () => void) => followed(found, id, listener), getSnapshot: () => found.get(id) },
    [found, id],
  );
  return useObservable<SyncedObject<A> | undefined>(observable, undefined);
}

/** Subscribes to a source, and loads the object if it is on the disk. A store that fails is in the status of the device. */
function followed<A extends object>(source: Source<A>, id: string, listener: () => void): () => void {
  const stop = source.subscribe(listener);
  source.fetch(id).catch(() => undefined);
  return stop;
}

/** Returns a source, to write to it. */
export function useSource<N extends RegisteredName>(name: N): RegisteredSource<N>;
export function useSource<A extends object = Attributes>(name: AnyName): Source<A>;
export function useSource<A extends object>(name: AnyName): Source<A> {
  return useDevice().source<A>(name);
}

/** Returns the status of the device, and renders again when it changes. */
export function useSyncStatus(): DeviceStatus {
  return useObservable(useMaybeDevice()?.status ?? null, SERVER_STATUS);
}

/** Returns the changes that the server has not confirmed, oldest first. */
export function useUploads(): readonly PendingUpload[] {
  return useObservable<readonly PendingUpload[]>(useMaybeDevice()?.uploads ?? null, NONE);
}

/** Returns the changes that the server has refused and the app has not handled, oldest first. */
export function useProblems(): readonly UploadProblem[] {
  return useObservable<readonly UploadProblem[]>(useMaybeDevice()?.problems ?? null, NONE);
}

/** True while the device is expected to get its first data without anybody's doing. */
function isFirstSync(device: Device): boolean {
  const { lastSyncedAtMs, userId, isOnline, error } = device.status.getSnapshot();
  return lastSyncedAtMs === null && userId !== null && isOnline && error === null;
}

/** True while the device shows only the last results of its queries. */
function isStarting(device: Device): boolean {
  const { isLoading, error } = device.status.getSnapshot();
  return isLoading && error === null;
}

const loadings = new WeakMap<object, Promise<unknown>>();

/** The same promise for every render, so that one that fails ends at an error boundary. */
function loadingOf(query: Pick<Query<unknown>, 'fetch'>): Promise<unknown> {
  const promise = loadings.get(query) ?? query.fetch();
  loadings.set(query, promise);
  return promise;
}

const firstSyncs = new WeakMap<Device, Promise<void>>();

function firstSyncOf(device: Device): Promise<void> {
  const known = firstSyncs.get(device);
  if (known !== undefined) return known;
  const promise = new Promise<void>((resolve) => {
    const stop = device.status.subscribe(() => {
      if (isFirstSync(device) || isStarting(device)) return;
      stop();
      firstSyncs.delete(device);
      resolve();
    });
  });
  firstSyncs.set(device, promise);
  return promise;
}
