import { type Limits, parseJson, Refusal } from '@tidemark/protocol';
import type { ObjectsAnswer } from '../ports/adapter.ts';
import type { Pace } from '../ports/pace.ts';
import { admitName, quoted } from './admit-name.ts';
import { admitAttributes, admitManyObjects, type ObjectLimits } from './admit-objects.ts';
import type { AdmittedObjects, AttributeTexts } from './admitted.ts';
import { IdList } from './id-list.ts';
import { ParsedObjects } from './known-objects.ts';
import { MemberSplitter, NotMembers } from './split-members.ts';

/** Where the objects of an answer stand, for pointers: an answer is nothing but objects. */
const FIELD = 'answer';

/**
 * The objects a backend has answered. Whatever is wrong with them is the backend's fault and a `backend_error`. Of an
 * answer that arrives as text, objects are looked at when they are asked for: most are what is kept already, letter for
 * letter, and then there is nothing to look at.
 */
export async function admitAnswer(answer: ObjectsAnswer, limits: Limits, pace: Pace): Promise<AdmittedObjects> {
  const { answerObjectsMax, answerUnitsMax } = limits;
  const bounds = { ...limits, objectsPerWriteMax: answerObjectsMax, writeUnitsMax: answerUnitsMax };
  if ('objects' in answer) {
    try {
      return new ParsedObjects(await admitManyObjects(answer.objects, bounds, FIELD, pace));
    } catch (error) {
      throw backendFault(error);
    }
  }
  return gatherTexts(answer.chunks, limits, new AnswerTexts(bounds));
}

async function gatherTexts(chunks: AsyncIterable<string>, limits: Limits, texts: AnswerTexts): Promise<AnswerTexts> {
  const { answerObjectsMax, answerUnitsMax, writeUnitsMax } = limits;
  const splitter = new MemberSplitter((id, text) => texts.add(id, text), writeUnitsMax);
  let units = 0;
  try {
    for await (const chunk of chunks) {
      units += chunk.length;
      if (units > answerUnitsMax) throw new NotMembers(`it is longer than ${answerUnitsMax} characters`);
      splitter.push(chunk);
      if (texts.size > answerObjectsMax) throw new NotMembers(`it has more than ${answerObjectsMax} objects`);
    }
    splitter.finish();
  } catch (error) {
    throw error instanceof NotMembers
      ? new Refusal('backend_error', `the answer is not usable: ${error.message}`)
      : error;
  }
  return texts;
}

class AnswerTexts implements AdmittedObjects {
  readonly #limits: ObjectLimits;
  readonly #ids = new IdList();
  readonly #given: (string | AttributeTexts)[] = [];

  constructor(limits: ObjectLimits) {
    this.#limits = limits;
  }

  add(id: string, text: string): void {
    if (!this.#ids.add(id)) throw new NotMembers(`the object ${quoted(id)} stands twice in it`);
    this.#given.push(text);
  }

  get size(): number {
    return this.#ids.size;
  }

  indexOf(id: string): number | undefined {
    return this.#ids.indexOf(id);
  }

  idAt(index: number): string {
    return this.#ids.at(index);
  }

  textAt(index: number): string | undefined {
    const given = this.#given[index];
    return typeof given === 'string' ? given : undefined;
  }

  attributesAt(index: number): AttributeTexts {
    const given = this.#given[index] ?? '';
    if (typeof given !== 'string') return given;
    const attributes = this.#admit(this.idAt(index), given);
    this.#given[index] = attributes;
    return attributes;
  }

  #admit(id: string, text: string): AttributeTexts {
    try {
      admitName('object', id, `/${FIELD}`);
      return admitAttributes(parseJson(text), this.#limits, [FIELD, id]);
    } catch (error) {
      throw backendFault(error instanceof SyntaxError ? new Refusal('invalid_json', 'it is not JSON') : error, id);
    }
  }
}

/** What the parser says may repeat data, so only our own words are told. */
function backendFault(error: unknown, id?: string): unknown {
  if (!(error instanceof Refusal)) return error;
  const where = id === undefined ? '' : ` (object ${quoted(id)})`;
  return new Refusal('backend_error', `the answer is not usable${where}: ${error.message}`, error.flaws);
}
