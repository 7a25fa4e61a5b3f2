/**
 * Keys are tuples. Numbers take six bytes, most significant first; texts are UTF-8, a zero byte inside is followed by
 * 0xFF, and a zero byte ends them. So tuples sort component by component, a prefix of a tuple is a prefix of its key,
 * and no two tuples meet, whatever the texts contain.
 */
export type KeyPart = string | number;

export const NUMBER_BYTES = 6;
const HIGH_UNIT = 2 ** 32;
export const NUMBER_MAX = 2 ** 48 - 1;
const END = 0x00;
const ESCAPED_ZERO = 0xff;

export function writeNumber(target: Uint8Array, at: number, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > NUMBER_MAX) throw new RangeError(`${value} is no key number`);
  const high = Math.floor(value / HIGH_UNIT);
  target[at] = high >>> 8;
  target[at + 1] = high;
  target[at + 2] = value >>> 24;
  target[at + 3] = value >>> 16;
  target[at + 4] = value >>> 8;
  target[at + 5] = value;
  return at + NUMBER_BYTES;
}

export function readNumber(source: Uint8Array, at: number): number {
  const high = byte(source, at) * 256 + byte(source, at + 1);
  const low =
    byte(source, at + 2) * 2 ** 24 +
    ((byte(source, at + 3) << 16) | (byte(source, at + 4) << 8) | byte(source, at + 5));
  return high * HIGH_UNIT + low;
}

function byte(source: Uint8Array, at: number): number {
  return source[at] ?? 0;
}

/** The key of a tuple. Every look-up begins with one, and nearly all are of plain texts: these are written in one go. */
export function keyOf(...parts: readonly KeyPart[]): Buffer {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'number') return mixedKeyOf(parts);
    if (part.includes('\0')) return slowKeyOf(parts);
    text += `${part}\0`;
  }
  if (!text.isWellFormed()) throw new Error('a key text must be well-formed Unicode');
  return Buffer.from(text, 'utf8');
}

/** A key as bytes, or as a text each of whose units is one of its bytes. */
export type LookedUp = Buffer | string;

/** Longer ones are so rare that they need not be quick. */
const LOOKED_UP_UNITS_MAX = 1_000;

/** The key of a tuple, only to be looked up: of plain texts no bytes are made before they are where LMDB reads them. */
export function lookUp(...parts: readonly string[]): LookedUp {
  let text = '';
  for (const part of parts) {
    if (!isPlain(part)) return keyOf(...parts);
    text += `${part}\0`;
  }
  return text.length > LOOKED_UP_UNITS_MAX ? keyOf(...parts) : text;
}

/** Whether each of its units is one byte in UTF-8, and none of them needs an escape. */
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === END || unit > 0x7f) return false;
  }
  return true;
}

/** Of the tables whose keys are tuples of texts. */
export const tupleEncoder = {
  writeKey(key: LookedUp, target: Uint8Array, start: number): number {
    if (typeof key === 'string') for (let at = 0; at < key.length; at++) target[start + at] = key.charCodeAt(at);
    else target.set(key, start);
    return start + key.length;
  },
  readKey(source: Uint8Array, start: number, end: number): Uint8Array {
    // Not the method of a Buffer, which would give away the place where the library reads the next key to.
    return Uint8Array.prototype.slice.call(source, start, end);
  },
};

/** Numbers with plain texts, as the places of jobs are: into one buffer of the right size. */
function mixedKeyOf(parts: readonly KeyPart[]): Buffer {
  let bytes = 0;
  for (const part of parts) {
    if (typeof part === 'string' && (part.includes('\0') || !part.isWellFormed())) return slowKeyOf(parts);
    bytes += typeof part === 'number' ? NUMBER_BYTES : Buffer.byteLength(part) + 1;
  }
  const key = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const part of parts) {
    if (typeof part === 'number') at = writeNumber(key, at, part);
    else {
      at += key.write(part, at);
      key[at++] = END;
    }
  }
  return key;
}

function slowKeyOf(parts: readonly KeyPart[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'number' ? numberKey(part) : textKey(part))));
}

function numberKey(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES);
  writeNumber(bytes, 0, value);
  return bytes;
}

function textKey(text: string): Buffer {
  if (!text.isWellFormed()) throw new Error('a key text must be well-formed Unicode');
  const bytes = Buffer.from(`${text}\0`, 'utf8');
  if (bytes.indexOf(END) === bytes.length - 1) return bytes;
  const escaped: number[] = [];
  for (const value of bytes.subarray(0, -1)) escaped.push(...(value === END ? [END, ESCAPED_ZERO] : [value]));
  return Buffer.from([...escaped, END]);
}

/** The texts of a key that consists of texts only, from byte `at` on. */
export function textsOf(key: Uint8Array, at = 0): string[] {
  const texts: string[] = [];
  let bytes: number[] = [];
  for (let index = at; index < key.length; index++) {
    const value = byte(key, index);
    if (value !== END) bytes.push(value);
    else if (key[index + 1] === ESCAPED_ZERO) {
      bytes.push(END);
      index++;
    } else {
      texts.push(Buffer.from(bytes).toString('utf8'));
      bytes = [];
    }
  }
  return texts;
}

/** The first key behind all that begin with `prefix`; undefined when there is none. */
export function behind(prefix: Buffer): Buffer | undefined {
  const end = Buffer.from(prefix);
  for (let index = end.length - 1; index >= 0; index--) {
    const value = byte(end, index);
    if (value < 0xff) {
      end[index] = value + 1;
      return end.subarray(0, index + 1);
    }
  }
  return undefined;
}

/** A place in a partition's journal. */
export type Place = [partition: number, seq: number];

/** Journal keys are on the path of every page: they are written and read without making a buffer. */
export const placeEncoder = {
  writeKey([partition, seq]: Place, target: Uint8Array, start: number): number {
    return writeNumber(target, writeNumber(target, start, partition), seq);
  },
  readKey(source: Uint8Array, start: number): Place {
    return [readNumber(source, start), readNumber(source, start + NUMBER_BYTES)];
  },
};

/** Where records stand: one alone under its seq, or a run of them (`runs.ts`), right behind its gaps (`gaps.ts`). */
export type LivePlace = Place | [partition: number, seq: number, what: 'gaps' | 'run'];

/** The last byte of their keys. The seq of a run is that of no record outside of it, so nothing comes in between. */
const GAPS_KEY_END = 0;
const RUN_KEY_END = 1;
const PLACE_BYTES = 2 * NUMBER_BYTES;

export const livePlaceEncoder = {
  writeKey([partition, seq, what]: LivePlace, target: Uint8Array, start: number): number {
    const end = writeNumber(target, writeNumber(target, start, partition), seq);
    if (what === undefined) return end;
    target[end] = what === 'run' ? RUN_KEY_END : GAPS_KEY_END;
    return end + 1;
  },
  readKey(source: Uint8Array, start: number, end: number): LivePlace {
    const partition = readNumber(source, start);
    const seq = readNumber(source, start + NUMBER_BYTES);
    if (end - start === PLACE_BYTES) return [partition, seq];
    return [partition, seq, source[start + PLACE_BYTES] === RUN_KEY_END ? 'run' : 'gaps'];
  },
};

/** An object of a partition. */
export type ObjectName = [partition: number, id: string];

/** On the path of every written object, so these too are written in place. The id is the rest: it needs no end. */
export const objectNameEncoder = {
  writeKey([partition, id]: ObjectName, target: Uint8Array, start: number): number {
    if (!id.isWellFormed()) throw new Error('a key text must be well-formed Unicode');
    const at = writeNumber(target, start, partition);
    return at + encoder.encodeInto(id, target.subarray(at)).written;
  },
  readKey(source: Uint8Array, start: number, end: number): ObjectName {
    return [readNumber(source, start), decoder.decode(source.subarray(start + NUMBER_BYTES, end))];
  },
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** All objects of a partition. */
export function objectsOf(partition: number): { start: ObjectName; end: ObjectName } {
  return { start: [partition, ''], end: [partition + 1, ''] };
}

/** All places of a partition behind `seq`. */
export function placesAfter(partition: number, seq: number): { start: Place; end: Place } {
  return { start: [partition, seq + 1], end: [partition + 1, 0] };
}

/** Everything there can be: a range over such keys needs both ends. */
export const ALL_PLACES: { start: Place; end: Place } = {
  start: [0, 0],
  end: [NUMBER_MAX, NUMBER_MAX],
};
export const ALL_OBJECTS: { start: ObjectName; end: ObjectName } = { start: [0, ''], end: [NUMBER_MAX, ''] };
