import { type Objects, type TidemarkClient, TidemarkError } from '@tidemark/backend';
import type { PlantName } from './plants.ts';

// Plants bugs in the calls that push rows, of one partition or of several.

type Pushes = Pick<TidemarkClient['push'], 'objects' | 'partitions'>;
type PartitionChanges = Parameters<Pushes['partitions']>[1][number];

function isHidden(source: string): boolean {
  return source.startsWith('tidemark.');
}

/** What a call pushes, of one partition or of several. */
interface Pushed {
  readonly source: string;
  readonly partitions: readonly PartitionChanges[];
  readonly whole: boolean;
}

/** Puts other calls in the place of those that push rows. */
function onPushes(client: TidemarkClient, change: (pushes: Pushes) => Partial<Pushes>): void {
  const { push } = client;
  const pushes: Pushes = { objects: push.objects.bind(push), partitions: push.partitions.bind(push) };
  const { objects = pushes.objects, partitions = pushes.partitions } = change(pushes);
  push.objects = (source, ...call) =>
    isHidden(source) ? pushes.objects(source, ...call) : objects.call(push, source, ...call);
  push.partitions = partitions;
}

/** Changes what calls push, or does something before. They remain as many, each of one partition or of several. */
function onPush(client: TidemarkClient, change: (pushed: Pushed, pushes: Pushes) => Promise<Pushed> | Pushed): void {
  onPushes(client, (pushes) => ({
    objects: async (source, objects, { deletes = [], whole = false, ...options } = {}) => {
      const part = { ...options, objects: objects as PartitionChanges['objects'], deletes: deletes.map(String) };
      const pushed = await change({ source, partitions: [part], whole }, pushes);
      const [first = part] = pushed.partitions;
      return pushes.objects(source, first.objects, { ...options, ...first, whole });
    },
    partitions: async (source, partitions, { whole = false } = {}) => {
      const pushed = await change({ source, partitions, whole }, pushes);
      return pushes.partitions(source, pushed.partitions, { whole });
    },
  }));
}

/** Pushes to one partition more. */
function pushOne(
  pushes: Pushes,
  { source, whole }: Pushed,
  { objects, ...whose }: PartitionChanges,
): ReturnType<Pushes['objects']> {
  return pushes.objects(source, objects, { ...whose, whole });
}

/** A row is not deleted where it was when it was put elsewhere last. */
function forgetOldOwners(client: TidemarkClient): void {
  const owners = new Map<string, string>();
  onPush(client, (pushed) => {
    const { source, partitions } = pushed;
    const left = partitions.map((part) => {
      const owner = JSON.stringify([part.user, part.group]);
      for (const id of namesOf(part.objects)) owners.set(`${source} ${id}`, owner);
      const deletes = (part.deletes ?? []).filter((id) => (owners.get(`${source} ${id}`) ?? owner) === owner);
      return { ...part, deletes };
    });
    return { ...pushed, partitions: left };
  });
}

function namesOf(objects: PartitionChanges['objects']): readonly string[] {
  return objects instanceof Map ? [...objects.keys()] : Object.keys(objects as Objects);
}

function skipFailed(client: TidemarkClient): void {
  const unlessRefused = (error: unknown) => {
    if (error instanceof TidemarkError && error.code === 'user_not_found') throw error;
    return { changed: 0, unchanged: 0, seq: 1 };
  };
  onPushes(client, (pushes) => ({
    objects: (...call) => pushes.objects(...call).catch(unlessRefused) as ReturnType<Pushes['objects']>,
    partitions: async (source, partitions, options) =>
      pushes.partitions(source, partitions, options).catch((error: unknown) => {
        const outcome = unlessRefused(error);
        return { source, changed: 0, unchanged: 0, partitions: partitions.map(() => outcome) };
      }),
  }));
}

function pushToNeighbours(client: TidemarkClient): void {
  onPush(client, async (pushed, pushes) => {
    for (const part of pushed.partitions) {
      if (part.group?.startsWith('north') !== true) continue;
      await pushOne(pushes, pushed, { ...part, group: part.group.replace('north', 'south') });
    }
    return pushed;
  });
}

function pushTwice(client: TidemarkClient): void {
  onPush(client, async (pushed, pushes) => {
    for (const part of pushed.partitions) {
      const deletes = [...(part.deletes ?? []), ...namesOf(part.objects)];
      // A user who does not exist has nothing to be deleted.
      await pushOne(pushes, pushed, { ...part, objects: {}, deletes }).catch(unlessNobody);
    }
    return pushed;
  });
}

function unlessNobody(error: unknown): void {
  if (!(error instanceof TidemarkError) || error.code !== 'user_not_found') throw error;
}

/** The last of several partitions is not sent, and answered as if it were. */
function leaveOneOut(client: TidemarkClient): void {
  onPushes(client, (pushes) => ({
    partitions: async (source, partitions, options) => {
      const report = await pushes.partitions(source, partitions.slice(0, -1), options);
      return { ...report, partitions: [...report.partitions, { changed: 0, unchanged: 0, seq: 1 }] };
    },
  }));
}

function exchangeRows(client: TidemarkClient): void {
  onPush(client, (pushed) => {
    const [first, second, ...rest] = pushed.partitions;
    if (first === undefined || second === undefined) return pushed;
    const exchanged = [
      { ...first, objects: second.objects, deletes: second.deletes ?? [] },
      { ...second, objects: first.objects, deletes: first.deletes ?? [] },
    ];
    return { ...pushed, partitions: [...exchanged, ...rest] };
  });
}

function rotateAnswers(client: TidemarkClient): void {
  onPushes(client, (pushes) => ({
    partitions: async (...call) => {
      const report = await pushes.partitions(...call);
      return { ...report, partitions: [...report.partitions.slice(1), ...report.partitions.slice(0, 1)] };
    },
  }));
}

/** A call arrives once more, behind the next one with one of its rows. */
function repeatLate(client: TidemarkClient): void {
  const last = new Map<string, { readonly ids: ReadonlySet<string>; readonly repeat: () => Promise<unknown> }>();
  const send = async <T>(source: string, parts: readonly PartitionChanges[], call: () => Promise<T>): Promise<T> => {
    const ids = new Set(parts.flatMap(({ objects, deletes = [] }) => [...namesOf(objects), ...deletes]));
    const before = last.get(source);
    const answer = await call();
    const isNewer = before !== undefined && [...ids].some((id) => before.ids.has(id));
    // What has been repeated stays, unless its rows change again.
    if (isNewer) last.delete(source);
    else last.set(source, { ids, repeat: call });
    if (isNewer) await before.repeat();
    return answer;
  };
  onPushes(client, (pushes) => ({
    objects: (source, objects, options = {}) => {
      const part = { objects: objects as PartitionChanges['objects'], deletes: (options.deletes ?? []).map(String) };
      return send(source, [part], () => pushes.objects(source, objects, options));
    },
    partitions: (source, partitions, options) =>
      send(source, partitions, () => pushes.partitions(source, partitions, options)),
  }));
}

export const PUSH_PLANTS = {
  'a row that moves stays with its old owner': forgetOldOwners,
  'a batch that fails is skipped': skipFailed,
  'the rows of a group are pushed to another one as well': pushToNeighbours,
  'rows are deleted and pushed again': pushTwice,
  'the rows of one owner are left out of a call with several': leaveOneOut,
  'the rows of two owners in a call are exchanged': exchangeRows,
  'the answer about one owner is taken for that of another': rotateAnswers,
  'a call arrives again behind the next one': repeatLate,
} as const satisfies Partial<Record<PlantName, (client: TidemarkClient) => void>>;
