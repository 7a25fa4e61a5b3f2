import { parseJson, Refusal } from '@tidemark/protocol';

/** The kinds of bytes that matter for the structure. */
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
  /** Bytes that are scanned and parsed before the generator yields. */
  readonly sliceBytes: number;
  /** The nesting limit. Exceeded: `too_deep`, before anything that deep is created. */
  readonly depthMax: number;
  /** Members of one object, since listing the names of a much larger one takes too long. Exceeded: `limit_exceeded`. */
  readonly objectMembersMax: number;
  /** Lists and objects at all depths together. Exceeded: `body_too_large`. */
  readonly containersMax: number;
  /** Called with every name of the outermost object, as JSON text. */
  readonly onName: (quoted: string) => void;
  /** Called for every member of an object in the outermost object. */
  readonly onMember?: () => void;
  /** Called for every member of an object one or two levels deeper, as those in lists are. */
  readonly onInnerMember?: () => void;
}

/**
 * Parses the bytes, which must be well-formed UTF-8, like `parseJson`, but in slices: it yields whenever other work
 * should run.
 *
 * The scan finds where lists and objects begin and end, and their commas. A container shorter than a slice is parsed
 * with its parent. In a longer one, the members between two commas about a slice apart are parsed together by
 * `parseJson` and added to the container; a long member is parsed the same way and added on its own. So `parseJson`
 * checks every byte, except for the brackets and commas of long containers and the white space around them, which are
 * checked here. One long scalar cannot be split; it is parsed as a whole, which `parseJson` does quickly.
 */
export function* parseIncrementally(bytes: Buffer, bounds: ParseBounds): Generator<void, unknown> {
  const { sliceBytes, onName, onMember = () => undefined, onInnerMember = () => undefined } = bounds;
  const open = new OpenContainers(bytes, bounds);
  let turnAt = sliceBytes;
  let stringStart = 0;
  let stringEnd = 0;
  const onColon = () => {
    if (open.depth === 1) onName(bytes.toString('utf8', stringStart, stringEnd));
    else if (open.depth === 2) onMember();
    else if (open.depth <= 4) onInnerMember();
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
    turnAt = index + open.parsedBytes + sliceBytes;
    yield;
  }
  return open.whole();
}

/** Yields the member names, as JSON text, of all objects in the outermost object of a valid body. */
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

/**
 * The lists and objects that are open, by depth. It uses one array per field, because there are many short-lived
 * containers.
 */
class OpenContainers {
  depth = 0;
  parsedBytes = 0;
  readonly #bytes: Buffer;
  readonly #bounds: ParseBounds;
  #containersLeft: number;
  /** Where the container begins. */
  readonly #starts: number[] = [];
  /** Where its members begin that are not parsed yet. */
  readonly #pending: number[] = [];
  /** Where the current member begins. */
  readonly #members: number[] = [];
  /** The end of a long member that was added on its own, before the comma that must follow; 0 if there is none. */
  readonly #placedEnds: number[] = [];
  readonly #commas: number[] = [];
  /** The parsed part of the container; undefined while it may be parsed with its parent. */
  readonly #values: (Container | undefined)[] = [];
  #root: Container | undefined;
  #rootEnd = 0;

  constructor(bytes: Buffer, bounds: ParseBounds) {
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#containersLeft = bounds.containersMax;
  }

  begin(index: number): void {
    // There is something after the end of the root value.
    if (this.#root !== undefined) throw notJson();
    if (this.depth === this.#bounds.depthMax || this.#containersLeft-- === 0) throw this.#refusal();
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
    } else if (index - (this.#pending[depth] as number) >= this.#bounds.sliceBytes) {
      this.#parsePending(depth, index);
      this.#pending[depth] = index + 1;
    }
    this.#members[depth] = index + 1;
    const commas = (this.#commas[depth] as number) + 1;
    this.#commas[depth] = commas;
    if (commas >= this.#bounds.objectMembersMax && !this.#isList(depth)) {
      throw new Refusal('limit_exceeded', `an object has more than ${this.#bounds.objectMembersMax} members`);
    }
  }

  end(index: number): void {
    const { depth } = this;
    if (depth === 0) throw notJson();
    this.depth--;
    const start = this.#starts[depth] as number;
    if (this.#values[depth] === undefined && index - start < this.#bounds.sliceBytes) return;
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

  /** Returns the root value, once every byte has been scanned. */
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

  /** Adds a long member to its container, after the short ones before it. */
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

  /** Parses the members up to a comma or the end; there must be at least one. */
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
      // The message of the parser may repeat parts of the body, which may be secret.
      throw notJson();
    }
  }

  /** Returns why no other container may begin. */
  #refusal(): Refusal {
    if (this.depth === this.#bounds.depthMax) {
      return new Refusal('too_deep', `the body is nested deeper than ${this.#bounds.depthMax}`);
    }
    return new Refusal('body_too_large', `the body has more than ${this.#bounds.containersMax} lists and objects`);
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

/** Like `JSON.parse`, it accepts any name as a member, and the last of two wins. */
function setOwn(container: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') container[name] = value;
  else Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the position after the closing quote, or the end if there is none. */
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
