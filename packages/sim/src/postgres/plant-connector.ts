import { type TidemarkClient, TidemarkError } from '@tidemark/backend';
import type { PartitionsReport } from '@tidemark/protocol';
import type { PlantName } from './plants.ts';

// Plants bugs in the connector of this process: in its client, or in classes of the built package before they are used.

type Classes = Record<string, { readonly prototype: Record<PropertyKey, unknown> }>;
type Method = (this: object, ...args: readonly never[]) => unknown;
type Push = TidemarkClient['push']['objects'];

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

function isHidden(source: string): boolean {
  return source.startsWith('tidemark.');
}

function onPush(client: TidemarkClient, change: (push: Push, ...call: Parameters<Push>) => ReturnType<Push>): void {
  const push = client.push.objects.bind(client.push);
  const changed: Push = (source, objects, options) =>
    isHidden(source) ? push(source, objects, options) : change(push, source, objects, options);
  client.push.objects = changed;
  // One after the other, so that the bug is in each of them.
  client.push.partitions = async (source, partitions, options) => {
    const outcomes: PartitionsReport['partitions'] = [];
    for (const { objects, ...whose } of partitions)
      outcomes.push(await outcomeOf(changed(source, objects, { ...whose, ...options })));
    return { source, changed: 0, unchanged: 0, partitions: outcomes };
  };
}

async function outcomeOf(pushed: ReturnType<Push>): Promise<PartitionsReport['partitions'][number]> {
  try {
    const { changed, unchanged, seq } = await pushed;
    return { changed, unchanged, seq };
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'user_not_found') {
      return { changed: 0, unchanged: 0, seq: null, code: error.code, detail: error.message };
    }
    throw error;
  }
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

/** A row is not deleted where it was when it was put elsewhere last. */
async function forgetOldOwners(client: TidemarkClient): Promise<void> {
  const owners = new Map<string, string>();
  onPush(client, (push, source, objects, options = {}) => {
    const owner = JSON.stringify([options.user, options.group]);
    for (const id of namesOf(objects)) owners.set(`${source} ${id}`, owner);
    const deletes = [...(options.deletes ?? [])].filter((id) => (owners.get(`${source} ${id}`) ?? owner) === owner);
    return push(source, objects, { ...options, deletes });
  });
}

function namesOf(objects: Parameters<Push>[1]): readonly string[] {
  return objects instanceof Map ? [...objects.keys()] : Object.keys(objects);
}

async function skipFailed(client: TidemarkClient): Promise<void> {
  onPush(client, async (push, source, objects, options) => {
    try {
      return await push(source, objects, options);
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'user_not_found') throw error;
      return { changed: 0, unchanged: 0 } as unknown as Awaited<ReturnType<Push>>;
    }
  });
}

function forgetOverlay(): Promise<void> {
  return replace('copy/overlay.js', 'Overlay', 'close', () => (rows: never, named: readonly string[] | null = null) => {
    const read: ReadonlyMap<string, unknown> = rows;
    return { rows: read, gone: new Set((named ?? []).filter((id) => !read.has(id))) };
  });
}

async function forgetTruncate(): Promise<void> {
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

async function pushToNeighbours(client: TidemarkClient): Promise<void> {
  onPush(client, async (push, source, objects, options = {}) => {
    const { group } = options;
    const other = group?.startsWith('north') ? group.replace('north', 'south') : null;
    if (other !== null && other !== undefined) await push(source, objects, { ...options, group: other });
    return push(source, objects, options);
  });
}

async function pushTwice(client: TidemarkClient): Promise<void> {
  onPush(client, async (push, source, objects, options = {}) => {
    const deletes = [...(options.deletes ?? []), ...namesOf(objects)];
    await push(source, {}, { ...options, deletes });
    return push(source, objects, options);
  });
}

const PLANTS: Readonly<Record<PlantName, (client: TidemarkClient) => Promise<void>>> = {
  'a position is acknowledged when it is received': acknowledgeReceived,
  'a column that was left out is taken for null': takeAbsentForNull,
  'a row that moves stays with its old owner': forgetOldOwners,
  'a batch that fails is skipped': skipFailed,
  'the changes between the marks are not laid over a chunk': forgetOverlay,
  'TRUNCATE is forgotten': forgetTruncate,
  'the old key of a row is forgotten': forgetOldKeys,
  'a position is stored before its changes': storeEarly,
  'a membership that is deleted stays': keepMembers,
  'the rows of a group are pushed to another one as well': pushToNeighbours,
  'rows are deleted and pushed again': pushTwice,
};

export function plantIn(client: TidemarkClient, plant: PlantName): Promise<void> {
  return PLANTS[plant](client);
}
