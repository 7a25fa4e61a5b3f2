import type { TidemarkClient } from '@tidemark/backend';
import { PUSH_PLANTS } from './plant-pushes.ts';
import type { PlantName } from './plants.ts';

// Plants bugs in the connector of this process: in its client, or in classes of the built package before they are used.

type Classes = Record<string, { readonly prototype: Record<PropertyKey, unknown> }>;
type Method = (this: object, ...args: readonly never[]) => unknown;
/** Puts another method in the place of one of a class that the package does not export. */
async function replace(path: string, name: string, method: PropertyKey, by: (original: Method) => Method) {
  const classes = (await import(new URL(`../../../postgres/dist/${path}`, import.meta.url).href)) as Classes;
  const prototype = classes[name]?.prototype;
  const original = prototype?.[method];
  if (prototype === undefined || typeof original !== 'function') {
    throw new Error(`the connector has no ${name}.${String(method)}, in which a bug could be planted`);
  }
  prototype[method] = by(original as Method);
}

interface Arrival {
  readonly type: string;
  readonly lsn?: bigint;
  readonly message?: ArrivedMessage;
}

interface ArrivedMessage {
  readonly type: string;
  readonly endLsn?: bigint;
  readonly old?: unknown;
  readonly row?: readonly (string | null | undefined)[];
}

/** Changes what the stream brings, or does something before it is taken. */
function onArrival(change: (stream: Stream, arrival: Arrival) => Arrival | Promise<Arrival>): Promise<void> {
  return replace(
    'replication/replication-stream.js',
    'ReplicationStream',
    Symbol.asyncIterator,
    (iterate) =>
      async function* (this: object) {
        for await (const arrival of iterate.call(this) as AsyncIterable<Arrival>) {
          yield await change(this as Stream, arrival);
        }
      },
  );
}

interface Stream {
  acknowledge(lsn: bigint): void;
}

async function acknowledgeReceived(): Promise<void> {
  await replace(
    'replication/replication-stream.js',
    'ReplicationStream',
    'acknowledge',
    (acknowledge) =>
      function (this: object, lsn: bigint) {
        if (lsn > (this as { readonly acknowledged: bigint }).acknowledged) acknowledge.call(this, lsn as never);
      },
  );
  await onArrival((stream, arrival) => {
    if (arrival.message?.endLsn !== undefined) stream.acknowledge(arrival.message.endLsn);
    return arrival;
  });
}

function takeAbsentForNull(): Promise<void> {
  return onArrival((_, arrival) => {
    const { message } = arrival;
    if (message?.row === undefined) return arrival;
    return { ...arrival, message: { ...message, row: Array.from(message.row, (value) => value ?? null) } };
  });
}

function forgetOldKeys(): Promise<void> {
  return onArrival((_, arrival) => {
    const { message } = arrival;
    return message?.type === 'update' ? { ...arrival, message: { ...message, old: null } } : arrival;
  });
}

function forgetOverlay(): Promise<void> {
  return replace('copy/overlay.js', 'Overlay', 'close', () => (rows: never, named: readonly string[] | null = null) => {
    const read: ReadonlyMap<string, unknown> = rows;
    return { rows: read, gone: new Set((named ?? []).filter((id) => !read.has(id))) };
  });
}

/** Neither at a heartbeat nor at a start it is noticed that a table has another file, which alone would heal what was forgotten. */
async function overlookFiles(): Promise<void> {
  await replace('run/mapped-tables.js', 'MappedTables', 'setOrigin', () => () => undefined);
  await replace(
    'state/connector-state.js',
    'StateStore',
    'read',
    (read) =>
      async function (this: object) {
        const state = (await read.call(this)) as { readonly tables: Record<string, object> } | null;
        if (state === null) return null;
        const entries = Object.entries(state.tables).map(([label, one]) => [label, { ...one, origin: undefined }]);
        return { ...state, tables: Object.fromEntries(entries) };
      },
  );
}

async function forgetTruncate(): Promise<void> {
  await overlookFiles();
  await replace('run/tables.js', 'Tables', 'truncated', () => () => undefined);
  await replace('copy/overlay.js', 'Overlay', 'truncate', () => () => undefined);
}

/** What the stream has brought is stored as applied, and applied afterwards. */
async function storeEarly(): Promise<void> {
  interface Store {
    write(state: object): Promise<void>;
  }
  let last: { readonly store: Store; readonly state: object } | null = null;
  await replace(
    'state/connector-state.js',
    'StateStore',
    'write',
    (write) =>
      function (this: object, state: object) {
        last = { store: this as Store, state };
        return write.call(this, state as never);
      },
  );
  await onArrival(async (_, arrival) => {
    const { endLsn } = arrival.message ?? {};
    if (endLsn === undefined || last === null) return arrival;
    const position = `${(endLsn >> 32n).toString(16)}/${(endLsn & 0xffffffffn).toString(16)}`;
    await last.store.write({ ...last.state, position });
    return arrival;
  });
}

async function keepMembers(client: TidemarkClient): Promise<void> {
  client.groups.remove = async (user) => client.groups.of(user);
}

const PLANTS: Readonly<
  Record<Exclude<PlantName, keyof typeof PUSH_PLANTS>, (client: TidemarkClient) => Promise<void>>
> = {
  'a position is acknowledged when it is received': acknowledgeReceived,
  'a column that was left out is taken for null': takeAbsentForNull,
  'the changes between the marks are not laid over a chunk': forgetOverlay,
  'TRUNCATE is forgotten': forgetTruncate,
  'the old key of a row is forgotten': forgetOldKeys,
  'a position is stored before its changes': storeEarly,
  'a membership that is deleted stays': keepMembers,
};

export async function plantIn(client: TidemarkClient, plant: PlantName): Promise<void> {
  await { ...PLANTS, ...PUSH_PLANTS }[plant](client);
}
