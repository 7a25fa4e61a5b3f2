import { type JsonValue, type Limits, parseJson, Refusal, SEARCH_OBJECTS_MAX } from '@tidemark/protocol';
import { admitAnswer } from '../admission/admit-answer.ts';
import { quoted } from '../admission/admit-name.ts';
import { admitValue } from '../admission/admit-value.ts';
import { AdapterRefusal, type Adapters, type ObjectsAnswer } from '../ports/adapter.ts';
import { groupOf } from '../ports/owner.ts';
import type { Pace } from '../ports/pace.ts';
import type { PartitionKey } from '../ports/store.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';

export interface SearchPorts {
  /** Absent: no source can search. */
  readonly adapters?: Adapters;
  readonly limits: Limits;
  readonly pace: Pace;
}

export interface SearchCall {
  readonly partition: PartitionKey;
  /** The user who searches. */
  readonly user: string;
  readonly source: SourceView;
  readonly params: unknown;
}

/** Whether the adapter of the source can search. */
export function isSearchable({ adapters }: Pick<SearchPorts, 'adapters'>, { adapter }: SourceView): boolean {
  return adapter !== NO_ADAPTER && adapters?.find(adapter)?.search !== undefined;
}

/** Asks the adapter for objects and returns them as the text of a JSON object. They are not stored. */
export async function search(ports: SearchPorts, { partition, user, source, params }: SearchCall): Promise<string> {
  const { adapters, limits, pace } = ports;
  const admitted = parseJson(admitValue(params ?? null, limits.valueDepthMax, () => '/params')) as JsonValue;
  const adapter = source.adapter === NO_ADAPTER ? null : (adapters?.find(source.adapter) ?? null);
  const group = groupOf(partition);
  const whose = { user, ...(group === null ? {} : { partition: group }) };
  const asked = adapter?.search?.({ source: partition.source, ...whose, params: admitted });
  if (asked === undefined) {
    throw new Refusal('search_not_available', `the source ${quoted(partition.source)} cannot be searched`);
  }
  return textOf(await asked.catch(refused), { ...limits, answerObjectsMax: SEARCH_OBJECTS_MAX }, pace);
}

async function textOf(answer: ObjectsAnswer, limits: Limits, pace: Pace): Promise<string> {
  const objects = await admitAnswer(answer, limits, pace);
  const members = Array.from(objects, (object) => {
    return `${JSON.stringify(object.id)}:${objects.attributesOf(object).text}`;
  });
  return `{${members.join(',')}}`;
}

/** The message of an error that is no refusal is not sent to devices. */
function refused(error: unknown): never {
  if (error instanceof AdapterRefusal) throw new Refusal('invalid_value', error.message);
  if (error instanceof Refusal) throw error;
  throw new Refusal('backend_error', 'the adapter of the source failed');
}
