import { ANSWER_DEPTH_MAX, parseJson } from '@tidemark/protocol';
import { quoted } from './admit-name.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const STRING = String.raw`"[^"\\]*(?:\\[^][^"\\]*)*"`;
const FLAT = String.raw`[^"{}[\]]*(?:${STRING}[^"{}[\]]*)*`;
/**
 * An object with lists and objects in it, but none within these. No part of it can be read in two ways, so looking for it
 * never takes longer than the text is long. An expression goes over a text several times as fast as a loop.
 */
const WHOLE_OBJECT = new RegExp(String.raw`\{${FLAT}(?:[[{]${FLAT}[\]}]${FLAT})*\}`, 'y');
/** After so many that are of another kind, it is not tried any more. */
const MISSES_MAX = 16;

/** Where in the text of a hash of hashes the splitter is. */
type Stage = 'begin' | 'first_key' | 'key' | 'in_key' | 'colon' | 'object' | 'in_object' | 'between' | 'end';

/** Why a text is no hash of hashes, as far as can be told without looking into the objects. */
export class NotMembers extends Error {
  override readonly name = 'NotMembers';
}

/**
 * Takes the JSON text of a hash of hashes apart while it arrives: every object is handed on as the text it is, with its
 * id. What is inside an object is not looked at, except for where it ends: whoever uses the text must parse it, or know
 * it from somewhere.
 */
export class MemberSplitter {
  readonly #onMember: (id: string, text: string) => void;
  readonly #memberUnitsMax: number;
  /** The chunk at hand, and how far it has been read. It is never joined to another, which would cost a copy. */
  #chunk = '';
  #at = 0;
  /** Where in the chunk the key or the object begins that is being read; what came of it before. */
  #start = 0;
  #before = '';
  #stage: Stage = 'begin';
  #depth = 0;
  #isInString = false;
  /** Objects in a row whose end was not found at once. */
  #misses = 0;
  /** The last chunk ended with a backslash: the first unit of the next one is escaped. */
  #isEscaped = false;
  #id = '';

  constructor(onMember: (id: string, text: string) => void, memberUnitsMax: number) {
    this.#onMember = onMember;
    this.#memberUnitsMax = memberUnitsMax;
  }

  push(chunk: string): void {
    if (chunk === '') return;
    this.#chunk = chunk;
    this.#start = 0;
    this.#at = this.#isEscaped ? 1 : 0;
    this.#isEscaped = false;
    while (this.#at < chunk.length) this.#step();
    this.#isEscaped = this.#at > chunk.length;
    if (this.#stage === 'in_key' || this.#stage === 'in_object') this.#before += chunk.slice(this.#start);
    if (this.#before.length > this.#memberUnitsMax) throw new NotMembers('an object in it is too large');
  }

  /** To be called when nothing more comes. */
  finish(): void {
    if (this.#stage !== 'end') throw new NotMembers('it ends in the middle');
  }

  #step(): void {
    if (this.#stage === 'in_object') this.#readObject();
    else if (this.#stage === 'in_key') this.#readKey();
    else this.#readBetween();
  }

  /** One unit of what stands around keys and objects. */
  #readBetween(): void {
    const unit = this.#chunk.charCodeAt(this.#at);
    if (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) {
      this.#at++;
      return;
    }
    if (this.#stage === 'object' && unit !== OPEN_BRACE) {
      throw new NotMembers(`object ${quoted(this.#id)}: expected an object of attributes, got ${kindAt(unit)}`);
    }
    this.#stage = nextStage(this.#stage, unit);
    if (this.#stage === 'in_key' || this.#stage === 'in_object') this.#start = this.#at;
    this.#at++;
    this.#depth = 1;
  }

  #readKey(): void {
    const at = endOfString(this.#chunk, this.#at);
    this.#at = at + 1;
    if (this.#chunk.charCodeAt(at) !== QUOTE) {
      this.#at = at;
      return;
    }
    this.#id = keyOf(this.#taken());
    this.#stage = 'colon';
  }

  #readObject(): void {
    if (this.#isWholeAhead()) this.#endObject();
    else this.#readOn();
  }

  /** Whether the object has just begun and all of it lies in the chunk, as most do: then its end is found at once. */
  #isWholeAhead(): boolean {
    if (this.#at !== this.#start + 1 || this.#misses > MISSES_MAX) return false;
    WHOLE_OBJECT.lastIndex = this.#start;
    if (!WHOLE_OBJECT.test(this.#chunk)) {
      this.#misses++;
      return false;
    }
    this.#misses = 0;
    this.#at = WHOLE_OBJECT.lastIndex;
    return true;
  }

  #readOn(): void {
    const chunk = this.#chunk;
    const end = chunk.length;
    let at = this.#at;
    let depth = this.#depth;
    let isInString = this.#isInString;
    while (at < end) {
      if (isInString) {
        at = endOfString(chunk, at);
        if (at >= end) break;
        isInString = false;
        at++;
        continue;
      }
      const unit = chunk.charCodeAt(at++);
      if (unit === QUOTE) isInString = true;
      else if (isOpening(unit)) depth++;
      else if (isClosing(unit) && --depth === 0) break;
    }
    if (depth > ANSWER_DEPTH_MAX) throw new NotMembers('it is nested too deeply');
    this.#depth = depth;
    this.#isInString = isInString;
    this.#at = at;
    if (depth === 0) this.#endObject();
  }

  #endObject(): void {
    this.#onMember(this.#id, this.#taken());
    this.#stage = 'between';
  }

  /** What was read since the start, in this chunk and those before. */
  #taken(): string {
    const text = this.#before + this.#chunk.slice(this.#start, this.#at);
    this.#before = '';
    return text;
  }
}

function isOpening(unit: number): boolean {
  return unit === OPEN_BRACE || unit === OPEN_BRACKET;
}

function isClosing(unit: number): boolean {
  return unit === CLOSE_BRACE || unit === CLOSE_BRACKET;
}

/** Where the string ends: the index of its quote, the end of the chunk, or one beyond when what follows is escaped. */
function endOfString(chunk: string, from: number): number {
  let quote = chunk.indexOf('"', from);
  while (quote !== -1 && isEscaped(chunk, quote, from)) quote = chunk.indexOf('"', quote + 1);
  if (quote !== -1) return quote;
  return isEscaped(chunk, chunk.length, from) ? chunk.length + 1 : chunk.length;
}

function isEscaped(chunk: string, at: number, from: number): boolean {
  let backslashes = 0;
  while (at - 1 - backslashes >= from && chunk.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

function nextStage(stage: Stage, unit: number): Stage {
  switch (stage) {
    case 'begin':
      if (unit === OPEN_BRACE) return 'first_key';
      throw new NotMembers('it is not a JSON object');
    case 'first_key':
      if (unit === CLOSE_BRACE) return 'end';
      return nextStage('key', unit);
    case 'key':
      if (unit === QUOTE) return 'in_key';
      break;
    case 'colon':
      if (unit === COLON) return 'object';
      break;
    case 'object':
      return 'in_object';
    case 'between':
      if (unit === COMMA) return 'key';
      if (unit === CLOSE_BRACE) return 'end';
      break;
    case 'end':
      throw new NotMembers('something follows behind its end');
  }
  throw new NotMembers('it is not JSON');
}

/** What kind of value begins with the unit. */
function kindAt(unit: number): string {
  const first = String.fromCharCode(unit);
  if (first === '"') return 'a string';
  if (first === '[') return 'a list';
  if (first === 'n') return 'null';
  if (first === 't' || first === 'f') return 'a boolean';
  return /[-0-9]/.test(first) ? 'a number' : 'something that is not JSON';
}

function keyOf(text: string): string {
  if (!text.includes('\\')) return text.slice(1, -1);
  try {
    return parseJson(text) as string;
  } catch {
    throw new NotMembers('a key in it is not JSON');
  }
}
