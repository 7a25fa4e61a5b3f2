import { parseJson, Refusal } from '@tidemark/protocol';

/** What a byte means to whoever only looks for the ends of things. */
const QUOTE = 1;
const OPEN = 2;
const CLOSE = 3;
const COMMA = 4;
const COLON = 5;

const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;
const QUOTE_BYTE = 0x22;
const BACKSLASH_BYTE = 0x5c;

const KINDS = new Uint8Array(256);
KINDS[QUOTE_BYTE] = QUOTE;
for (const byte of [0x7b, OPEN_LIST]) KINDS[byte] = OPEN;
for (const byte of [CLOSE_OBJECT, CLOSE_LIST]) KINDS[byte] = CLOSE;
KINDS[0x2c] = COMMA;
KINDS[0x3a] = COLON;

type Container = unknown[] | Record<string, unknown>;

export interface ParseBounds {
  /** Bytes that are scanned and parsed before others get their turn. */
  readonly stretchBytes: number;
  /** Nesting of the whole. Exceeded: `too_deep`, before anything that deep is made. */
  readonly depthMax: number;
  /** Members of one object: even listing the names of a much larger one takes too long. Exceeded: `limit_exceeded`. */
  readonly objectMembersMax: number;
  /** Is told every name of the outermost object, as JSON text. */
  readonly onName: (quoted: string) => void;
  /** Is told that an object in the outermost object has another member. */
  readonly onMember?: () => void;
}

/**
 * `parseJson` of the bytes, which must be well-formed UTF-8, a stretch at a time: it yields whenever others should
 * get their turn.
 *
 * The scan finds where lists and objects begin and end and where their commas are. What is shorter than a stretch is
 * left to its parent. Of what is longer, the members between two commas that lie a stretch apart are parsed together,
 * by `parseJson` itself, and put into the container; a long member is parsed the same way and put in on its own. So
 * every byte is judged by `parseJson`, except the brackets and commas of long containers and the white space around
 * them, which are judged here. One long scalar cannot be cut; it is parsed whole, which is what `parseJson` is fast at.
 */
export function* parseIncrementally(bytes: Buffer, bounds: ParseBounds): Generator<void, unknown> {
  const { stretchBytes, onName, onMember = () => undefined } = bounds;
  const open = new OpenContainers(bytes, bounds);
  let turnAt = stretchBytes;
  let stringStart = 0;
  let stringEnd = 0;
  const onColon = () => {
    if (open.depth === 1) onName(bytes.toString('utf8', stringStart, stringEnd));
    else if (open.depth === 2) onMember();
  };
  for (let index = 0; index < bytes.length; index++) {
    const kind = KINDS[bytes[index] as number];
    if (kind === QUOTE) {
      stringStart = index;
      stringEnd = endOfString(bytes, index);
      index = stringEnd - 1;
    } else if (kind === OPEN) open.begin(index);
    else if (kind === CLOSE) open.end(index);
    else if (kind === COMMA) open.comma(index);
    else if (kind === COLON) onColon();
    if (index + open.parsedBytes < turnAt) continue;
    turnAt = index + open.parsedBytes + stretchBytes;
    yield;
  }
  return open.whole();
}

/** The names of the members of all objects in the outermost object of a body that is known to be JSON, as JSON text. */
export function* memberNames(bytes: Buffer): Generator<{ readonly field: string; readonly quoted: string }> {
  let field = '';
  let depth = 0;
  let stringStart = 0;
  let stringEnd = 0;
  for (let index = 0; index < bytes.length; index++) {
    const kind = KINDS[bytes[index] as number];
    if (kind === QUOTE) {
      stringStart = index;
      stringEnd = endOfString(bytes, index);
      index = stringEnd - 1;
    } else if (kind === OPEN) depth++;
    else if (kind === CLOSE) depth--;
    else if (kind === COLON && depth === 1) field = bytes.toString('utf8', stringStart, stringEnd);
    else if (kind === COLON && depth === 2) yield { field, quoted: bytes.toString('utf8', stringStart, stringEnd) };
  }
}

/** The lists and objects that have begun and not ended yet, by depth; arrays by depth, since they are many and short. */
class OpenContainers {
  depth = 0;
  parsedBytes = 0;
  readonly #bytes: Buffer;
  readonly #stretchBytes: number;
  readonly #depthMax: number;
  readonly #objectMembersMax: number;
  /** Where the container begins. */
  readonly #starts: number[] = [];
  /** Where its members begin that have not been parsed yet. */
  readonly #pending: number[] = [];
  /** Where the member under way begins. */
  readonly #members: number[] = [];
  /** Behind a long member that was put in on its own, before the comma that must follow; 0: there is none. */
  readonly #placedEnds: number[] = [];
  readonly #commas: number[] = [];
  /** What has been parsed of it; undefined while it may be left to its parent. */
  readonly #values: (Container | undefined)[] = [];
  #root: Container | undefined;
  #rootEnd = 0;

  constructor(bytes: Buffer, { stretchBytes, depthMax, objectMembersMax }: ParseBounds) {
    this.#bytes = bytes;
    this.#stretchBytes = stretchBytes;
    this.#depthMax = depthMax;
    this.#objectMembersMax = objectMembersMax;
  }

  begin(index: number): void {
    // Something behind the end of the whole: what it is does not matter.
    if (this.#root !== undefined) throw notJson();
    if (this.depth === this.#depthMax) {
      throw new Refusal('too_deep', `the body is nested deeper than ${this.#depthMax}`);
    }
    const depth = ++this.depth;
    this.#starts[depth] = index;
    this.#pending[depth] = index + 1;
    this.#members[depth] = index + 1;
    this.#placedEnds[depth] = 0;
    this.#commas[depth] = 0;
    this.#values[depth] = undefined;
  }

  comma(index: number): void {
    const { depth } = this;
    if (depth === 0) return;
    const placedEnd = this.#placedEnds[depth] as number;
    if (placedEnd !== 0) {
      this.#requireBlank(placedEnd, index);
      this.#placedEnds[depth] = 0;
      this.#pending[depth] = index + 1;
    } else if (index - (this.#pending[depth] as number) >= this.#stretchBytes) {
      this.#parsePending(depth, index);
      this.#pending[depth] = index + 1;
    }
    this.#members[depth] = index + 1;
    const commas = (this.#commas[depth] as number) + 1;
    this.#commas[depth] = commas;
    if (commas >= this.#objectMembersMax && !this.#isList(depth)) {
      throw new Refusal('limit_exceeded', `an object has more than ${this.#objectMembersMax} members`);
    }
  }

  end(index: number): void {
    const { depth } = this;
    if (depth === 0) throw notJson();
    this.depth--;
    const start = this.#starts[depth] as number;
    if (this.#values[depth] === undefined && index - start < this.#stretchBytes) return;
    this.#finish(depth, index);
    const value = this.#values[depth] as Container;
    if (depth > 1) this.#place(depth - 1, value, start, index + 1);
    else this.#placeRoot(value, start, index + 1);
  }

  #placeRoot(value: Container, start: number, end: number): void {
    this.#requireBlank(0, start);
    this.#root = value;
    this.#rootEnd = end;
  }

  /** The value of it all, once every byte has been looked at. */
  whole(): unknown {
    if (this.depth > 0) throw notJson();
    if (this.#root === undefined) return this.#parse('', 0, this.#bytes.length, '');
    this.#requireBlank(this.#rootEnd, this.#bytes.length);
    return this.#root;
  }

  #finish(depth: number, end: number): void {
    if (this.#bytes[end] !== (this.#isList(depth) ? CLOSE_LIST : CLOSE_OBJECT)) throw notJson();
    const placedEnd = this.#placedEnds[depth] as number;
    const start = this.#starts[depth] as number;
    const isWithoutComma = this.#members[depth] === start + 1;
    if (placedEnd !== 0) this.#requireBlank(placedEnd, end);
    else if (isWithoutComma && isBlank(this.#bytes, start + 1, end)) this.#values[depth] = this.#emptyAt(depth);
    else this.#parsePending(depth, end);
  }

  /** Puts a long member into its container, behind the short ones that wait before it. */
  #place(depth: number, value: Container, start: number, end: number): void {
    const member = this.#members[depth] as number;
    if (member > (this.#pending[depth] as number)) this.#parsePending(depth, member - 1);
    this.#values[depth] ??= this.#emptyAt(depth);
    const container = this.#values[depth];
    if (Array.isArray(container)) {
      this.#requireBlank(member, start);
      container.push(value);
    } else {
      const [name] = Object.keys(this.#parse('{', member, start, 'null}') as object);
      setOwn(container, name as string, value);
    }
    this.#placedEnds[depth] = end;
  }

  /** The members up to a comma or the end, of which there must be one. */
  #parsePending(depth: number, end: number): void {
    const start = this.#pending[depth] as number;
    if (isBlank(this.#bytes, start, end)) throw notJson();
    const isList = this.#isList(depth);
    const parsed = this.#parse(isList ? '[' : '{', start, end, isList ? ']' : '}') as Container;
    const present = this.#values[depth];
    if (present === undefined) this.#values[depth] = parsed;
    else addAll(present, parsed);
  }

  #parse(before: string, start: number, end: number, behind: string): unknown {
    this.parsedBytes += end - start;
    try {
      return parseJson(before + this.#bytes.toString('utf8', start, end) + behind);
    } catch {
      // What the parser says may repeat parts of the body, which may be a secret.
      throw notJson();
    }
  }

  #isList(depth: number): boolean {
    return this.#bytes[this.#starts[depth] as number] === OPEN_LIST;
  }

  #emptyAt(depth: number): Container {
    return this.#isList(depth) ? [] : {};
  }

  #requireBlank(start: number, end: number): void {
    if (!isBlank(this.#bytes, start, end)) throw notJson();
  }
}

function addAll(container: Container, members: Container): void {
  if (Array.isArray(container)) {
    for (const item of members as unknown[]) container.push(item);
  } else {
    for (const [name, value] of Object.entries(members)) setOwn(container, name, value);
  }
}

/** As `JSON.parse` does it: whatever the name, it becomes a member, and the last of two wins. */
function setOwn(container: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') container[name] = value;
  else Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

/** The place behind the closing quote, or behind everything when there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length) {
    const byte = bytes[index];
    if (byte === QUOTE_BYTE) return index + 1;
    index += byte === BACKSLASH_BYTE ? 2 : 1;
  }
  return bytes.length;
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const byte = bytes[index];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}

function notJson(): Refusal {
  return new Refusal('invalid_json', 'the body is not JSON');
}
