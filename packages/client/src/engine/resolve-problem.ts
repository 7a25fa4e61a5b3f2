import {
  type AttributesOfSource,
  type JsonValue,
  type SourceName,
  type SourceTypes,
  sameJson,
  type Untyped,
} from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import type { RowsRead } from '../state/disk-work.ts';
import { frozen } from '../state/frozen.ts';
import { rowKey } from '../state/group-rows.ts';
import type { LocalState, Transaction } from '../state/local-state.ts';
import { inVersionOfApp } from '../state/problem-in-version.ts';
import type { Attributes, ProblemRow, UploadRow } from '../state/rows.ts';
import { admitAttributes, admitRemoved } from '../uploads/admit-attributes.ts';
import { realId, withReferencesOf } from '../uploads/links.ts';
import { randomId } from '../uploads/random-id.ts';
import type { DeviceData } from './device-data.ts';

/** Some of the attributes. */
type Some<A> = string extends keyof A ? A : Partial<A>;

/** What a merge function gets: both versions of an object that was changed here and by somebody else. */
export interface Conflict<A = Attributes> {
  readonly id: string;
  /** The attributes in conflict as they were set here; null: the object was deleted here. */
  readonly mine: Some<A> | null;
  /** The attributes in conflict that were removed here. */
  readonly removed: readonly string[];
  /** The object at the server; null: it was deleted there. */
  readonly theirs: A | null;
}

/** Returns the attributes to write, or null to leave the conflict to the app as a problem. It must not be asynchronous. */
export type MergeFunction<A = Attributes> = (conflict: Conflict<A>) => { readonly [K in keyof A]?: unknown } | null;

/** Merge functions by source. */
export type MergeFunctions<S extends SourceTypes = Untyped> = string extends keyof S
  ? Readonly<Record<string, MergeFunction>>
  : { readonly [N in SourceName<S>]?: MergeFunction<AttributesOfSource<S, N>> };

interface ResolveParts {
  readonly tx: Transaction;
  readonly data: DeviceData;
}

export function requireProblem(tx: Transaction, opId: string): ProblemRow {
  const problem = tx.get('problems', ['', opId]);
  if (problem !== undefined) return problem;
  throw clientError('unknown_upload', `no upload ${JSON.stringify(opId)} has a problem`);
}

/** Makes the same change again. Returns the op_id of the new upload. */
export function retryProblem(parts: ResolveParts, opId: string): string {
  const { source, group, op, id, attributes, removed, version } = requireProblem(parts.tx, opId);
  parts.tx.delete('problems', ['', opId]);
  const whose = {
    source,
    ...(group === undefined ? {} : { group }),
    ...(version === undefined ? {} : { version }),
  };
  return add(parts, { ...whose, op, id, attributes, ...(removed === undefined ? {} : { removed }) });
}

/** What an app writes in place of a refused change. */
interface Resolution {
  readonly given: object;
  /** The version of the schema that the app of the tab was built with which says it; undefined: it does not say. */
  readonly version: number | undefined;
}

/**
 * Writes the attributes in place of the refused change. An object that is not there is created with them, and with what the
 * refused change had set. Returns the op_id of the new upload; null if nothing differs.
 */
export function resolveProblem(parts: ResolveParts, opId: string, { given, version }: Resolution): string | null {
  const { tx, data } = parts;
  const problem = requireProblem(tx, opId);
  const { source, group } = problem;
  const whose = {
    source,
    ...(group === undefined ? {} : { group }),
    ...(version === undefined ? {} : { version }),
  };
  const ofVersion = version === undefined ? { source } : { source, version };
  const attributes = withReferencesOf(tx, ofVersion, admitAttributes(given));
  const id = realId(tx, source, problem.id);
  const current = data.replica.view(source).get(id)?.attributes;
  tx.delete('problems', ['', opId]);
  // This tab knows the object and the change in the version of its own app only.
  const isOfOtherTab = version !== tx.versions?.of(source);
  if (current === undefined) {
    const refused = isOfOtherTab ? {} : inVersionOfApp(tx, problem).attributes;
    const whole = frozen({ ...refused, ...attributes });
    if (Object.keys(whole).length > 0) return add(parts, { ...whose, op: 'create', id, attributes: whole });
    throw new ClientError('invalid_value', 'an object needs at least one attribute');
  }
  const differing = Object.entries(attributes).filter(([name, value]) => isOfOtherTab || !isSet(current, name, value));
  const removed = admitRemoved(given).filter((name) => isOfOtherTab || Object.hasOwn(current, name));
  if (differing.length === 0 && removed.length === 0) return null;
  const change = { attributes: frozen(Object.fromEntries(differing)), ...(removed.length === 0 ? {} : { removed }) };
  return add(parts, { ...whose, op: 'update', id, ...change });
}

/** Loads the object on the disk that `resolveProblem` compares with. To be called in the turn of the transaction: later it may be out of memory. */
export async function loadObjectOf({ replica }: DeviceData, opId: string): Promise<void> {
  const problem = replica.reader.get('problems', ['', opId]);
  if (problem !== undefined) await replica.view(problem.source).load([problem.id]);
}

/** Reads the object on the disk that `merged` passes to the app. */
export async function readTheirs(rows: RowsRead, state: LocalState, { source, id }: ProblemRow): Promise<void> {
  if (state.isOnDisk(source)) await rows.read([[source, realId(state, source, id)]]);
}

/** Returns what the app's merge function says to a conflict. */
export function merged(tx: Transaction, problem: ProblemRow, merge: MergeFunction): object | null {
  const { source, id } = problem;
  const { attributes: mine, removed = [] } = inVersionOfApp(tx, problem);
  const stored = tx.get('objects', [source, realId(tx, source, id)]) ?? null;
  const theirs = stored && (tx.versions?.shown(tx.get('sources', ['', source]), stored) ?? stored);
  return merge({ id, mine, removed, theirs });
}

function add(
  { tx, data }: ResolveParts,
  change: Pick<UploadRow, 'source' | 'group' | 'version' | 'op' | 'id' | 'attributes' | 'removed'>,
): string {
  const opId = randomId(data.platform);
  const seen = tx.get('sources', rowKey(change))?.seen ?? null;
  const order = data.writes.takeOrder();
  tx.put('uploads', ['', opId], {
    ...change,
    order,
    seen,
    state: 'waiting',
    settled: null,
    madeAtMs: data.platform.nowMs(),
  });
  return opId;
}

function isSet(current: Attributes, name: string, value: JsonValue): boolean {
  return Object.hasOwn(current, name) && sameJson(current[name], value);
}
