import type { LocalRow } from '@tidemark/client';
import type { Store } from '@tidemark/core';
import type { PullAnswer, PushRequest, SyncSource, Upload } from '@tidemark/protocol';
import { canonicalName, nameIn } from './app-versions.ts';
import { onAnswer, onRequest, type PlantedBug, type SdkPlant } from './plant.ts';

interface SourceList {
  readonly sources: readonly SyncSource[];
}

/** Mistakes about the versions of schemas. */
export const VERSION_BUGS: readonly PlantedBug[] = [
  {
    name: 'an upload does not say its version',
    breaks: 'SIM-18',
    plant: () => ({ request: onChanges((changes) => changes.map(withoutVersion)) }),
  },
  { name: 'an upload is translated twice', breaks: 'SIM-18', plant: translatingTwice },
  {
    name: 'changes of two versions are taken for changes of the newer one',
    breaks: 'SIM-18',
    plant: () => ({ request: onChanges(inNewestOfObject) }),
  },
  {
    name: 'a change that waits loses its version when the app starts',
    breaks: 'SIM-18',
    plant: () => ({ found: (rows) => rows.map(withoutVersionOfUpload) }),
  },
  {
    name: 'an app shows objects as the server has them',
    breaks: 'SIM-23',
    plant: () => ({ built: () => undefined }),
  },
  {
    name: 'an app does not say the steps that it was built with',
    breaks: 'SIM-23',
    plant: () => ({
      built: (versions) =>
        Object.fromEntries(Object.entries(versions).map(([source, { version }]) => [source, { version, steps: [] }])),
    }),
  },
  {
    name: 'devices are not told that objects are being converted',
    breaks: 'SIM-23',
    plant: () => ({ answer: onAnswer<SourceList>('/sources', withoutConverting) }),
  },
  { name: 'a device never hears of another version', breaks: 'SIM-23', plant: rememberingLists },
  {
    name: 'pages do not tell the version of their objects',
    breaks: 'SIM-23',
    plant: () => ({
      answer: onAnswer<PullAnswer>('/pull', ({ versions: _, ...answer }) => answer),
      event: (change, send) => send({ source: change.source }),
    }),
  },
  {
    name: 'an upload is written although the version has changed since it was translated',
    breaks: 'SIM-23',
    plant: () => ({ store: withoutVersionGuards }),
  },
  {
    name: 'a conversion leaves out the last object of a partition',
    breaks: 'SIM-23',
    plant: () => ({ store: withoutLastRecords }),
  },
  {
    name: 'a conversion leaves out a partition',
    breaks: 'SIM-23',
    plant: () => ({ store: withoutLastPartition }),
  },
];

function onChanges(change: (changes: readonly Upload[]) => readonly Upload[]): NonNullable<SdkPlant['request']> {
  return onRequest<PushRequest>('/push', (push) => ({ ...push, changes: [...change(push.changes)] }));
}

function withoutVersion({ version: _, ...upload }: Upload): Upload {
  return upload;
}

function withoutVersionOfUpload(row: LocalRow): LocalRow {
  return row.table === 'uploads' ? ({ ...row, value: withoutVersion(row.value as Upload) } as LocalRow) : row;
}

/** A device that has heard of a newer version renames attributes, and says the older version nevertheless. */
function translatingTwice(): SdkPlant {
  const heard = new Map<string, number>();
  return {
    answer: onAnswer<SourceList>('/sources', (list) => {
      for (const { name, schema } of list.sources) heard.set(name, schema?.version ?? 1);
      return list;
    }),
    request: onChanges((changes) =>
      changes.map((upload) => {
        const version = heard.get(upload.source) ?? 1;
        if (upload.version === undefined || upload.version >= version || upload.attributes === undefined) return upload;
        const renamed = Object.entries(upload.attributes).map(([name, value]) => {
          return [nameIn(version, canonicalName(name)), value] as const;
        });
        return { ...upload, attributes: Object.fromEntries(renamed) };
      }),
    ),
  };
}

function inNewestOfObject(changes: readonly Upload[]): readonly Upload[] {
  return changes.map((upload) => {
    const same = changes.filter(({ source, id }) => source === upload.source && id === upload.id);
    const version = Math.max(...same.map((one) => one.version ?? 0));
    return upload.version === undefined ? upload : { ...upload, version };
  });
}

function withoutConverting({ sources }: SourceList): SourceList {
  return {
    sources: sources.map((source) => {
      return source.schema === undefined ? source : { ...source, schema: { ...source.schema, converting: false } };
    }),
  };
}

function rememberingLists(): SdkPlant {
  let first: SourceList | null = null;
  return {
    answer: onAnswer<SourceList>('/sources', (list) => {
      first ??= list;
      return first;
    }),
  };
}

function withoutVersionGuards(store: Store): Store {
  const commit: Store['commit'] = (call) => {
    const guards = call.guards?.map((guard) => {
      return guard.kind === 'source' ? { kind: guard.kind, key: guard.key } : guard;
    });
    return store.commit({ ...call, ...(guards === undefined ? {} : { guards }) });
  };
  return new Proxy(store, { get: (target, name) => (name === 'commit' ? commit : bound(target, name)) });
}

/** Only conversions read so much at a time. */
const CONVERSION_OBJECTS = 500;
const CONVERSION_UNITS = 1_000_000;
const CONVERSION_PARTITIONS = 1_000;

function withoutLastRecords(store: Store): Store {
  const readJournal: Store['readJournal'] = async (partition, bounds) => {
    const slice = await store.readJournal(partition, bounds);
    const isConversion = bounds.entriesMax === CONVERSION_OBJECTS && bounds.unitsMax === CONVERSION_UNITS;
    return isConversion ? { ...slice, records: slice.records.slice(0, -1) } : slice;
  };
  return new Proxy(store, { get: (target, name) => (name === 'readJournal' ? readJournal : bound(target, name)) });
}

function withoutLastPartition(store: Store): Store {
  const partitions: Store['partitions'] = async (page) => {
    const found = await store.partitions(page);
    return page.limit === CONVERSION_PARTITIONS ? found.slice(0, -1) : found;
  };
  return new Proxy(store, { get: (target, name) => (name === 'partitions' ? partitions : bound(target, name)) });
}

function bound(store: Store, name: string | symbol): unknown {
  const member = Reflect.get(store, name) as unknown;
  return typeof member === 'function' ? (member.bind(store) as unknown) : member;
}
