import type { SourceName, SourceTypes, Untyped } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import { CallLog, type LoggedCall } from '../debug/call-log.ts';
import type { SourcesOnDisk } from '../disk/sources-on-disk.ts';
import { Alone } from '../engine/alone.ts';
import type { About } from '../engine/describe-device.ts';
import type { EngineOptions } from '../engine/engine-options.ts';
import type { FileOptions, LoadFileWork } from '../engine/file-work.ts';
import { loadNetwork } from '../engine/load-network.ts';
import type { MergeFunctions } from '../engine/resolve-problem.ts';
import type { GetToken } from '../engine/sessions.ts';
import { POLL_MS_DEFAULT } from '../limits.ts';
import { platformWith } from '../platform/default-platform.ts';
import type { DiskPart, LocalStore } from '../ports/local-store.ts';
import type { Platform } from '../ports/platform.ts';
import type { Show } from '../pull/apply-page.ts';
import { DeviceQueries } from '../queries/source-queries.ts';
import type { Replica } from '../replica/replica.ts';
import type { AppVersions } from '../state/app-versions.ts';
import type { Pause } from '../state/in-steps.ts';
import { memoryStore } from '../stores/memory-store.ts';
import type { Versions } from '../versions/app-versions.ts';
import { Device } from './device.ts';

export interface DeviceOptions<S extends SourceTypes = Untyped> {
  /** The address of the server, without `/sync/v1`. */
  readonly url: string;
  /** Where the data is stored. Default: in memory. */
  readonly store?: LocalStore;
  /** The sources to sync. Default: all sources of the user. */
  readonly sources?: readonly SourceName<S>[];
  /** Objects per page, if fewer than the server's default. */
  readonly pageObjects?: number;
  /** How often to pull without an event stream, in milliseconds. Default: a minute. */
  readonly pollMs?: number;
  /** Whether to use an event stream. Default: yes. */
  readonly live?: boolean;
  /** Whether a large first sync may use a snapshot stream. Default: yes. */
  readonly snapshots?: boolean;
  /**
   * When the app sees the first sync of a source: `whole`, when it is complete, or `as_it_arrives`, object by object.
   * Changes made before it is complete are not checked for conflicts. Default: `whole`.
   */
  readonly show?: Show;
  /**
   * When the device is open: `loaded`, when all stored objects are in memory, or `last_results`, sooner: live queries first
   * show what they showed before the app was closed, see `status.isLoading`. Default: `loaded`.
   */
  readonly start?: 'loaded' | 'last_results';
  /**
   * Gets a token of the identity provider when the session has ended, to renew it without asking the user; null: the
   * user has to sign in. It is only called after the server has refused the session.
   */
  readonly getToken?: GetToken;
  /** What the app and the device are, for the people who look after the server. It is sent with the sign-in. */
  readonly about?: About;
  /** Functions that merge conflicts, by source. What they cannot merge is a problem for the app. */
  readonly merge?: MergeFunctions<S>;
  /**
   * The versions of the schemas that the app was built with: the constant `versions` of the generated types. Objects of other
   * versions are translated, in both directions. Absent: the app sees objects as the server has them.
   */
  readonly versions?: Versions;
  /** Called after every call to the server, for a log of the app. It gets no data and no token. */
  readonly log?: (call: LoggedCall) => void;
  /** Which files are kept, and which are fetched before the app shows them. */
  readonly files?: FileOptions;
  /** Replaces features of the platform: React Native may need `randomBytes` and `network`. */
  readonly platform?: Partial<Platform>;
}

/** Opens a device: loads its stored state, and continues from there. `S` are the types of its sources, if the app has them. */
export async function openDevice<S extends SourceTypes = Untyped>(
  options: DeviceOptions<NoInfer<S>>,
): Promise<Device<S>> {
  requireUrl(options.url);
  const { store = memoryStore(), files = {} } = options;
  const given = platformWith(options.platform ?? {});
  const log = new CallLog(options.log ?? null);
  const platform = { ...given, fetch: log.watch(given) };
  const { tabs, early, recorder, disk } = await loadParts(options.start === 'last_results', store, platform);
  const versions = await loadVersions(options.versions);
  const engineOptions = {
    url: options.url,
    store,
    platform,
    sources: options.sources ?? null,
    pageObjects: options.pageObjects ?? null,
    pollMs: options.pollMs ?? POLL_MS_DEFAULT,
    usesStream: options.live ?? true,
    usesSnapshots: options.snapshots ?? true,
    show: options.show ?? 'whole',
    loadEarly: early?.loadEarly ?? null,
    disk,
    versions,
    about: options.about ?? {},
    getToken: options.getToken ?? null,
    merge: (options.merge ?? {}) as MergeFunctions,
    files,
    loadNetwork,
    loadFileWork,
  };
  const host = await (tabs === null ? Alone.open(engineOptions) : tabs(engineOptions));
  const results = recorder && new recorder.ResultRecorder(host.replica, platform.after);
  return new Device<S>(host, log, new DeviceQueries(host.replica, results), disk?.sources() ?? null);
}

/** Loaded only where there are files. */
const loadFileWork: LoadFileWork = async (parts) => {
  const { FileLibrary } = await import('../files/file-library.ts');
  return FileLibrary.open(parts);
};

/** Loaded only by apps that say which versions they were built with. */
async function loadVersions(built: Versions | undefined): Promise<AppVersions | null> {
  if (built === undefined) return null;
  const { TranslatedVersions } = await import('../versions/app-versions.ts');
  return new TranslatedVersions(built);
}

/** Loads the parts of the SDK that only some apps use, all at once. */
async function loadParts(isEarly: boolean, { sharedAs, disk: part }: LocalStore, { tabs: features }: Platform) {
  const [tabs, early, recorder, disk] = await Promise.all([
    sharedAs === undefined || features === null
      ? null
      : import('../tabs/tab.ts').then(
          ({ Tab }) =>
            (options: EngineOptions) =>
              Tab.open(options, sharedAs, features),
        ),
    isEarly ? import('../replica/load-early.ts') : null,
    isEarly ? import('../queries/result-recorder.ts') : null,
    part === undefined || sharedAs !== undefined ? null : loadDisk(part),
  ]);
  return { tabs, early, recorder, disk };
}

/** Tabs cannot use it: each holds the whole state in memory. */
async function loadDisk(part: DiskPart) {
  const { loadWithoutThem, SourcesOnDisk } = await import('../disk/sources-on-disk.ts');
  let sources: SourcesOnDisk | null = null;
  return {
    load: loadWithoutThem(part),
    open: async (replica: Replica, pause: Pause) => {
      sources = await SourcesOnDisk.open(replica, pause);
    },
    sources: () => sources,
  };
}

/** A mistyped address would look like a network that is always down. */
function requireUrl(text: string): void {
  const url = parsedUrl(text);
  const problem =
    url === null || !/^https?:$/.test(url.protocol)
      ? 'must be an absolute http or https address'
      : url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== ''
        ? 'must have no login, query or fragment'
        : null;
  if (problem !== null) throw clientError('invalid_url', `url ${problem}, such as https://sync.example.com`);
}

/** Not by `URL.canParse`, which React Native does not have. */
function parsedUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
