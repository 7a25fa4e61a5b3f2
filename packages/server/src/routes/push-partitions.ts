import type { ChangeObserver } from '@tidemark/core';
import {
  PARTITIONS_PER_PUSH_MAX,
  type PartitionType,
  pointer,
  REFUSALS,
  Refusal,
  type WriteReport,
} from '@tidemark/protocol';
import { closed, flag, objects, text, texts } from '@tidemark/protocol/annotated';
import { PartitionsReport } from '@tidemark/protocol/schemas';
import { type Static, Type } from '@tidemark/protocol/typebox';
import type { ActivityFact } from '../activity/activity-filter.ts';
import { documentedAs } from '../http/documented-schema.ts';
import { type RouteContext, route } from '../http/route.ts';
import { MEMBERSHIP_REFUSALS, OBJECT_REFUSALS } from '../http/route-refusals.ts';
import { IgnoredToken, SourceId } from './shapes.ts';

/** Written at the same time, so that they share a flush to the disk. */
const WRITES_AT_ONCE = 100;
/** What a repetition of the same call would not change. */
const LASTING_STATUSES: ReadonlySet<number> = new Set([400, 404, 413, 422]);

const Partition = Type.Object(
  {
    user_id: Type.Optional(Type.Unknown(documentedAs(text('The user whose data it is.', 'anna')))),
    group: Type.Optional(Type.Unknown(documentedAs(text('The group whose data it is.', 'north')))),
    objects: Type.Unknown(documentedAs(objects('Objects to merge: their attributes are set, other attributes stay.'))),
    deletes: Type.Optional(Type.Unknown(documentedAs(texts('Ids of objects to delete in the same commit.', ['3'])))),
  },
  { ...closed, description: 'What is written to one user or group.' },
);
const Body = Type.Object(
  {
    api_token: IgnoredToken,
    partitions: Type.Array(Partition, { description: 'Each user or group, once.' }),
    whole: Type.Optional(flag('True: all objects are whole. Their attributes that are not given are removed.')),
  },
  { ...closed, title: 'PushPartitions', description: 'Objects of several users or groups.' },
);
type Given = Static<typeof Partition>;
type Outcome = PartitionsReport['partitions'][number];

export const pushPartitions = route({
  method: 'POST',
  path: '/app/v1/:source_name/push_partitions',
  operationId: 'pushPartitions',
  scope: 'push',
  summary: 'Add, update and delete objects of several users or groups',
  description:
    'Each user or group is written in one commit of its own, and all of them share a flush to the disk. What is wrong with one refuses this one alone. A repetition changes nothing.',
  refusals: ['user_not_found', 'group_required', 'schema_violation', ...OBJECT_REFUSALS, ...MEMBERSHIP_REFUSALS],
  params: Type.Object({ source_name: SourceId }),
  body: Body,
  answer: PartitionsReport,
  operation: 'push_objects',
  audit: 'objects.change',
  isAuditedByHandOnly: true,
  activity: ({ params: { source_name: source }, body: { partitions } }, answer) =>
    (answer as PartitionsReport).partitions.flatMap(({ seq, changed, unchanged }, index) => {
      const { user_id, objects: given, deletes } = partitions[index] as Given;
      if (seq === null) return [];
      const whose = { user_id: typeof user_id === 'string' ? user_id : null, client_id: null };
      const counts = { changed, unchanged, seq };
      const fact: ActivityFact = { kind: 'push', ...whose, source, operation: 'push_partitions', ...counts };
      return [{ fact, data: () => (deletes === undefined ? given : { objects: given, deletes }) }];
    }),
  handle: async ({ context: { tidemark }, params: { source_name: source }, body, observer, hasHungUp }) => {
    const { partitions, whole = false } = body;
    requireAdmissible(partitions, await tidemark.sources.partitionTypeOf(source));
    const outcomes: Outcome[] = [];
    for (let start = 0; start < partitions.length; start += WRITES_AT_ONCE) {
      // The caller makes the call again, and perhaps newer ones behind it, which this one must not overtake.
      if (hasHungUp()) throw new Refusal('request_timeout', 'the caller hung up');
      const some = partitions.slice(start, start + WRITES_AT_ONCE);
      outcomes.push(...(await allEnded(some.map((given) => write({ tidemark, source, whole, observer }, given)))));
    }
    const sumOf = (name: 'changed' | 'unchanged') => outcomes.reduce((sum, outcome) => sum + outcome[name], 0);
    return { source, changed: sumOf('changed'), unchanged: sumOf('unchanged'), partitions: outcomes };
  },
});

/** Rejects only when all have ended: a caller who hears of a failure may push something newer at once. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Two commits of one partition would come in any order, so it may be named once. */
function requireAdmissible(partitions: readonly Given[], type: PartitionType | null): void {
  if (partitions.length > PARTITIONS_PER_PUSH_MAX) {
    const detail = `${partitions.length} partitions are more than the ${PARTITIONS_PER_PUSH_MAX} allowed`;
    throw new Refusal('limit_exceeded', detail, [{ pointer: pointer('partitions'), detail }]);
  }
  const named = new Set<unknown>();
  for (const [index, given] of partitions.entries()) {
    const owner = ownerIn(given, type);
    if (named.has(owner)) {
      const detail = `${owner === EVERYBODY ? 'a source of everybody' : 'the same user or group'} stands twice; merge both into one`;
      throw new Refusal('invalid_value', `partitions: ${detail}`, [{ pointer: pointer('partitions', index), detail }]);
    }
    // What names nobody, or nothing that can be a name, is refused by itself.
    if (typeof owner === 'string' || owner === EVERYBODY) named.add(owner);
  }
}

const EVERYBODY = Symbol('everybody');

/** Whose data it is. A source of groups takes users as well, and one of everybody takes and ignores them. */
function ownerIn({ user_id, group }: Given, type: PartitionType | null): unknown {
  if (type === 'app') return EVERYBODY;
  return type === 'group' ? group : user_id;
}

interface Target {
  readonly tidemark: RouteContext['tidemark'];
  readonly source: string;
  readonly whole: boolean;
  readonly observer: ChangeObserver | undefined;
}

async function write({ tidemark, source, whole, observer }: Target, given: Given): Promise<Outcome> {
  const { user_id, group, objects: put, deletes } = given;
  const whose = { ...(user_id === undefined ? {} : { user_id }), ...(group === undefined ? {} : { group }) };
  const change = { objects: put, ...(deletes === undefined ? {} : { deletes }), ...(whole ? { whole } : {}) };
  try {
    const report: WriteReport = await tidemark.objects.push({ source, ...whose, ...change }, observer);
    return { changed: report.changed, unchanged: report.unchanged, seq: report.seq };
  } catch (error) {
    if (!(error instanceof Refusal) || !isOfPartition(error)) throw error;
    return { changed: 0, unchanged: 0, seq: null, code: error.code, detail: error.message };
  }
}

/** Whether the refusal is about this user or group alone, and not about a moment. */
function isOfPartition({ code }: Refusal): boolean {
  if (code === 'source_not_found') return false;
  return code === 'quota_exceeded' || LASTING_STATUSES.has(REFUSALS[code].status);
}
