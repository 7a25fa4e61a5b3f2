import { type Attributes, type TidemarkClient, TidemarkError } from '@tidemark/backend';

/** The changes of one partition. */
export interface PartitionChanges {
  readonly objects: ReadonlyMap<string, Attributes>;
  readonly deletes: ReadonlySet<string>;
}

export interface PushTarget {
  readonly source: string;
  readonly whose: { readonly user: string } | { readonly group: string } | Record<never, never>;
  /** Whether the objects are whole, so that attributes that are not given are removed. */
  readonly whole: boolean;
}

export interface PushRefusal {
  readonly reason: string;
  readonly isOfQuota: boolean;
}

/** What became of a push. */
export interface PushOutcome {
  /** Id → why Tidemark does not take it. */
  readonly refused: ReadonlyMap<string, PushRefusal>;
  /** True: there is no such user, so that nothing was stored. */
  readonly isUserMissing: boolean;
}

/** Statuses that say that the content of a call is wrong, whenever it is repeated. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);
const QUOTA = 'quota_exceeded';
const REFUSED_CODES: ReadonlySet<string> = new Set(['invalid_argument', 'object_too_large', QUOTA]);

/**
 * Pushes the changes of one partition in one call. When Tidemark refuses it, the objects are pushed in halves, until only those that
 * it refuses for themselves are left. Failures that pass are thrown.
 */
export async function pushRows(
  client: TidemarkClient,
  target: PushTarget,
  { objects, deletes }: PartitionChanges,
): Promise<PushOutcome> {
  const options = { ...target.whose, deletes: [...deletes], ...(target.whole ? { whole: true } : {}) };
  try {
    await client.push.objects(target.source, objects, options);
    return { refused: new Map(), isUserMissing: false };
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    if (error.code === 'user_not_found') return { refused: new Map(), isUserMissing: true };
    if (!isRefusal(error)) throw error;
    const ids = [...objects.keys()];
    if (ids.length === 0) throw error;
    if (ids.length === 1 || isOfAll(error)) return refuseAll(client, target, { objects, deletes }, error);
    return pushHalves(client, target, { objects, deletes });
  }
}

/**
 * Pushes the changes of several partitions in one call. Returns the indexes of those that were refused: nothing of them is stored,
 * and pushing each alone says what is wrong with it.
 */
export async function pushTogether(
  client: TidemarkClient,
  { source, whole }: Pick<PushTarget, 'source' | 'whole'>,
  partitions: readonly (PartitionChanges & Pick<PushTarget, 'whose'>)[],
): Promise<readonly number[]> {
  const given = partitions.map(({ whose, objects, deletes }) => ({ ...whose, objects, deletes: [...deletes] }));
  try {
    const report = await client.push.partitions(source, given, whole ? { whole } : {});
    return report.partitions.flatMap(({ seq }, index) => (seq === null ? [index] : []));
  } catch (error) {
    if (!(error instanceof TidemarkError) || !isRefusal(error)) throw error;
    return [...partitions.keys()];
  }
}

async function pushHalves(
  client: TidemarkClient,
  target: PushTarget,
  { objects, deletes }: PartitionChanges,
): Promise<PushOutcome> {
  const entries = [...objects];
  const middle = entries.length >> 1;
  const first = await pushRows(client, target, { objects: new Map(entries.slice(0, middle)), deletes });
  const second = await pushRows(client, target, { objects: new Map(entries.slice(middle)), deletes: new Set() });
  return {
    refused: new Map([...first.refused, ...second.refused]),
    isUserMissing: first.isUserMissing || second.isUserMissing,
  };
}

/** The objects are left out; the deletes are made. */
async function refuseAll(
  client: TidemarkClient,
  target: PushTarget,
  { objects, deletes }: PartitionChanges,
  error: TidemarkError,
): Promise<PushOutcome> {
  if (deletes.size > 0) await pushRows(client, target, { objects: new Map(), deletes });
  const isOfQuota = error.code === QUOTA;
  const reason = isOfQuota ? `${error.message} (it is tried again every few minutes)` : error.message;
  const refused = new Map([...objects.keys()].map((id) => [id, { reason, isOfQuota }] as const));
  return { refused, isUserMissing: false };
}

function isRefusal({ code, status }: TidemarkError): boolean {
  return REFUSED_CODES.has(code) || (status !== null && REFUSED.has(status));
}

/** A flaw outside of the objects, such as an impossible name of a group, is the same for each of them. */
function isOfAll({ code, errors }: TidemarkError): boolean {
  return code === QUOTA || errors.some(({ pointer }) => /^\/(group|user_id)/.test(pointer));
}
