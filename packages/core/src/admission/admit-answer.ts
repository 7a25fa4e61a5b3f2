import {
  ANSWER_DEPTH_MAX,
  JsonSplitter,
  type Limits,
  parseJson,
  Refusal,
  SplitError,
  type SplitProblem,
} from '@tidemark/protocol';
import type { AttributeTexts } from '../journal/attribute-texts.ts';
import { type ArrivingAnswer, LoggedFailure, type ObjectsAnswer } from '../ports/adapter.ts';
import type { Pace } from '../ports/pace.ts';
import { admitName, quoted } from './admit-name.ts';
import { admitAttributes, admitManyObjects, type ObjectLimits } from './admit-objects.ts';
import { DocumentObjects } from './admitted.ts';
import type { WriteCheck } from './schema-check.ts';

/** The name of the field in JSON pointers of refusals: the answer as a whole is the objects. */
const FIELD = 'answer';

/**
 * Admits the objects a backend has answered; a mistake in them is a `backend_error`. Objects that arrive as text are
 * parsed only when their attributes are asked for, because most texts equal the stored ones.
 */
export async function admitAnswer(
  answer: ObjectsAnswer,
  limits: Limits,
  pace: Pace,
  check: WriteCheck | null = null,
): Promise<DocumentObjects> {
  const { answerObjectsMax, answerUnitsMax } = limits;
  const bounds = { ...limits, objectsPerWriteMax: answerObjectsMax, writeUnitsMax: answerUnitsMax };
  if ('chunks' in answer) return splitAnswer(answer, bounds, limits.writeUnitsMax, check);
  try {
    const objects = await admitManyObjects(answer.objects, bounds, FIELD, pace);
    await check?.checkGiven(answer.objects, { field: FIELD, isWhole: true, pace });
    return DocumentObjects.parsed(objects);
  } catch (error) {
    throw backendFault(error);
  }
}

const SPLIT_PROBLEMS: Readonly<Record<SplitProblem, string>> = {
  begin: 'it is not a JSON object',
  syntax: 'it is not JSON',
  key: 'a key in it is not JSON',
  incomplete: 'it ends too early',
  trailing: 'something follows its end',
  too_deep: 'it is nested too deeply',
  too_large: 'an object in it is too large',
};

async function splitAnswer(
  answer: ArrivingAnswer,
  limits: ObjectLimits,
  objectUnitsMax: number,
  check: WriteCheck | null,
): Promise<DocumentObjects> {
  const { objectsPerWriteMax: objectsMax, writeUnitsMax: unitsMax } = limits;
  const objects = new DocumentObjects((id, text) => {
    try {
      return admitText(id, text, limits, check);
    } catch (error) {
      throw recorded(answer, error);
    }
  });
  const splitter = new JsonSplitter({
    opening: '{',
    elementUnitsMax: objectUnitsMax,
    depthMax: ANSWER_DEPTH_MAX,
    onElement: (id, text) => addObject(objects, id, text),
  });
  let units = 0;
  try {
    for await (const chunk of answer.chunks) {
      units += chunk.length;
      if (units > unitsMax) throw unusable(`it is longer than ${unitsMax} characters`);
      splitter.push(chunk);
      if (objects.size > objectsMax) throw unusable(`it has more than ${objectsMax} objects`);
    }
    splitter.finish();
  } catch (error) {
    throw recorded(answer, error instanceof SplitError ? unusable(SPLIT_PROBLEMS[error.problem]) : error);
  }
  return objects;
}

/** A connection that breaks is recorded by the adapter itself. */
function recorded(answer: ArrivingAnswer, error: unknown): unknown {
  if (!(error instanceof Refusal) || error instanceof LoggedFailure) return error;
  return answer.onUnusable?.(error) ?? error;
}

function addObject(objects: DocumentObjects, id: string, text: string): void {
  if (text[0] !== '{') {
    throw unusable(`object ${quoted(id)}: expected an object of attributes, got ${kindOfText(text)}`);
  }
  if (!objects.add(id, text)) throw unusable(`it holds the object ${quoted(id)} twice`);
}

/** Names the kind of a JSON value, but nothing of its content. */
function kindOfText(text: string): string {
  if (text.startsWith('"')) return 'a string';
  if (text.startsWith('[')) return 'a list';
  if (text.startsWith('n')) return 'null';
  if (/^[tf]/.test(text)) return 'a boolean';
  return /^[-0-9]/.test(text) ? 'a number' : 'something that is not JSON';
}

function unusable(problem: string): Refusal {
  return new Refusal('backend_error', `the answer is not usable: ${problem}`);
}

function admitText(id: string, text: string, limits: ObjectLimits, check: WriteCheck | null): AttributeTexts {
  try {
    admitName('object', id, `/${FIELD}`);
    const attributes = parseJson(text);
    const admitted = admitAttributes(attributes, limits, [FIELD, id]);
    check?.checkAnswered(id, attributes as Readonly<Record<string, unknown>>);
    return admitted;
  } catch (error) {
    throw backendFault(error instanceof SyntaxError ? new Refusal('invalid_json', 'it is not JSON') : error, id);
  }
}

/** The message holds no text of the parser, because that may repeat data. */
function backendFault(error: unknown, id?: string): unknown {
  if (!(error instanceof Refusal)) return error;
  const where = id === undefined ? '' : ` (object ${quoted(id)})`;
  return new Refusal('backend_error', `the answer is not usable${where}: ${error.message}`, error.flaws);
}
