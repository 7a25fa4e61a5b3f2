import {
  type Conflicts,
  INTERVAL_S_MAX,
  nameProblem,
  type PartitionType,
  type PushNotify,
  pointer,
  type References,
  Refusal,
  SOURCE_REFERENCES_MAX,
  type SyncType,
} from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { admitFields } from '../entries/admit-fields.ts';
import { NO_ADAPTER, type SourceRecord } from './source-record.ts';

/** The attributes of a source that can change. */
export type SourceSettings = Pick<
  SourceRecord,
  | 'adapter'
  | 'pollIntervalS'
  | 'syncType'
  | 'queue'
  | 'queryQueue'
  | 'cudQueue'
  | 'conflicts'
  | 'readOnly'
  | 'filling'
  | 'references'
  | 'pushNotify'
>;

export interface SourceDeclaration {
  readonly name: string;
  readonly partitionType: PartitionType | null;
  readonly adapter: string | null;
  readonly settings: Partial<SourceSettings>;
}

const PARTITION_TYPES: readonly PartitionType[] = ['app', 'user', 'group'];
const SYNC_TYPES: readonly SyncType[] = ['incremental', 'bulk_only'];
const CONFLICTS: readonly Conflicts[] = ['last_writer', 'detect'];
const FIXED: ReadonlySet<string> = new Set(['name', 'partition_type']);

/** Checks the declaration of a source: the attributes of specification 2.3 and the adapter. */
export function admitSource(call: unknown): SourceDeclaration {
  const fields = new Map(admitFields(call, []));
  const name = admitName('source', fields.get('name'), pointer('name'));
  const partitionType = fields.get('partition_type') ?? null;
  const adapter = fields.get('adapter') ?? null;
  for (const field of [...FIXED, 'adapter']) fields.delete(field);
  return {
    name,
    partitionType: partitionType === null ? null : admitPartitionType(partitionType),
    adapter: adapter === null ? null : admitText(adapter, pointer('adapter')),
    settings: settingsOf(fields, []),
  };
}

/** Checks the `data` of an update. */
export function admitSourceUpdate(data: unknown): Partial<SourceSettings> {
  const fields = new Map(admitFields(data, ['data']));
  for (const name of fields.keys()) {
    if (FIXED.has(name)) throw cannotChange(name, pointer('data', name));
  }
  return settingsOf(fields, ['data']);
}

export function admitPartitionType(value: unknown): PartitionType {
  return oneOf(PARTITION_TYPES, value, pointer('partition_type'));
}

/** Refuses the name of an adapter that does not exist. */
export function requireAdapter(adapter: string | null | undefined, known: readonly string[], at: string): void {
  if (adapter == null || adapter === NO_ADAPTER || known.includes(adapter)) return;
  const detail = `must be one of ${[NO_ADAPTER, ...known].join(', ')}, not ${quoted(adapter)}`;
  throw new Refusal('invalid_value', `the adapter of a source ${detail}`, [{ pointer: at, detail }]);
}

export function cannotChange(name: string, at: string): Refusal {
  return new Refusal('immutable_attribute', `the ${name} of a source cannot change`, [
    { pointer: at, detail: 'cannot change' },
  ]);
}

function settingsOf(fields: ReadonlyMap<string, unknown>, path: readonly string[]): Partial<SourceSettings> {
  const settings = [...fields].map(([name, value]) => admitSetting(name, value, pointer(...path, name)));
  return Object.assign({}, ...settings) as Partial<SourceSettings>;
}

function admitSetting(name: string, value: unknown, at: string): Partial<SourceSettings> {
  switch (name) {
    case 'adapter':
      return { adapter: admitText(value, at) };
    case 'poll_interval':
      return { pollIntervalS: admitPollInterval(value, at) };
    case 'sync_type':
      return { syncType: oneOf(SYNC_TYPES, value, at) };
    case 'queue':
      return { queue: admitQueue(value, at) };
    case 'query_queue':
      return { queryQueue: admitQueue(value, at) };
    case 'cud_queue':
      return { cudQueue: admitQueue(value, at) };
    case 'conflicts':
      return { conflicts: oneOf(CONFLICTS, value, at) };
    case 'read_only':
      return { readOnly: admitFlag(value, at) };
    case 'filling':
      return { filling: admitFlag(value, at) };
    case 'references':
      return { references: admitReferences(value, at) };
    case 'push_notify':
      return { pushNotify: admitPushNotify(value, at) };
    default: {
      const detail = 'is not an attribute of a source';
      throw new Refusal('invalid_request', `${quoted(name)} ${detail}`, [{ pointer: at, detail }]);
    }
  }
}

function admitPollInterval(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= -1 && value <= INTERVAL_S_MAX) return value;
  throw notAllowed(`must be a whole number of seconds from -1 to ${INTERVAL_S_MAX}`, at);
}

/** Null removes the queue. */
function admitQueue(value: unknown, at: string): string | null {
  return value === null ? null : admitText(value, at);
}

function admitFlag(value: unknown, at: string): boolean {
  if (typeof value === 'boolean') return value;
  throw notAllowed('must be true or false', at);
}

function admitPushNotify(value: unknown, at: string): PushNotify {
  if (typeof value === 'boolean' || value === 'until_delivered') return value;
  throw notAllowed('must be true, false or "until_delivered"', at);
}

/** The named sources need not exist yet, so that sources can be declared in any order. */
function admitReferences(value: unknown, at: string): References {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw notAllowed('must name a source for each attribute', at);
  }
  const given = Object.entries(value);
  if (given.length > SOURCE_REFERENCES_MAX) throw notAllowed(`must not have more than ${SOURCE_REFERENCES_MAX}`, at);
  const admitted = given.map(([attribute, source]) => {
    const here = `${at}${pointer(attribute)}`;
    const problem = nameProblem('attribute', attribute);
    if (problem !== null) throw notAllowed(problem, here);
    return [attribute, admitText(source, here)] as const;
  });
  return Object.fromEntries(admitted);
}

/** Names of queues and adapters follow the rules for names of sources. */
function admitText(value: unknown, at: string): string {
  if (typeof value !== 'string') throw notAllowed('must be a name', at);
  const problem = nameProblem('source', value);
  if (problem !== null) throw notAllowed(problem, at);
  return value;
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown, at: string): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw notAllowed(`must be one of ${allowed.join(', ')}`, at);
  return found;
}

function notAllowed(detail: string, at: string): Refusal {
  return new Refusal('invalid_value', `${at} ${detail}`, [{ pointer: at, detail }]);
}
