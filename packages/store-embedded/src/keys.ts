/**
 * A key encodes a tuple of numbers and texts. A number takes six bytes, big-endian. A text is UTF-8 and ends with a zero
 * byte; a zero byte inside it is followed by 0xFF. So keys sort component by component, a prefix of a tuple is a prefix
 * of its key, and two different tuples never have the same key, whatever the texts contain.
 */
export type KeyPart = string | number;

export const NUMBER_BYTES = 6;
const HIGH_UNIT = 2 ** 32;
export const NUMBER_MAX = 2 ** 48 - 1;
const END = 0x00;
const ESCAPED_ZERO = 0xff;

export function writeNumber(target: Uint8Array, at: number, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > NUMBER_MAX)
    throw new RangeError(`${value} cannot be part of a key: expected a whole number from 0 to ${NUMBER_MAX}`);
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

/** Encodes a tuple. Most consist of texts without zero bytes: those are encoded in one step. */
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

/** A key as bytes, or as a text each of whose units stands for one byte. */
export type LookUpKey = Buffer | string;

/** Longer keys are so rare that they need not be fast. */
const LOOK_UP_UNITS_MAX = 1_000;

/** Encodes a tuple of texts for a look-up. Of plain ASCII texts it makes no buffer: the encoder writes the bytes directly. */
export function lookUpKey(...parts: readonly string[]): LookUpKey {
  let text = '';
  for (const part of parts) {
    if (!isPlain(part)) return keyOf(...parts);
    text += `${part}\0`;
  }
  return text.length > LOOK_UP_UNITS_MAX ? keyOf(...parts) : text;
}

/** True: every unit is one byte in UTF-8, and none needs an escape. */
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === END || unit > 0x7f) return false;
  }
  return true;
}

/** The key encoder of tables whose keys are tuples of texts. */
export const tupleEncoder = {
  writeKey(key: LookUpKey, target: Uint8Array, start: number): number {
    if (typeof key === 'string') for (let at = 0; at < key.length; at++) target[start + at] = key.charCodeAt(at);
    else target.set(key, start);
    return start + key.length;
  },
  readKey(source: Uint8Array, start: number, end: number): Uint8Array {
    // `slice` of a Buffer would not copy, and the library reads the next key into the same memory.
    return Uint8Array.prototype.slice.call(source, start, end);
  },
};

/** Encodes numbers and plain texts, as in the keys of jobs, into one buffer of the right size. */
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

/** Decodes a key that consists of texts only, from byte `at` on. */
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

/** Returns where the text that begins at byte `at` of a key has ended. */
export function textEnd(key: Uint8Array, at: number): number {
  let index = at;
  while (index < key.length && (key[index] !== END || key[index + 1] === ESCAPED_ZERO)) {
    index += key[index] === END ? 2 : 1;
  }
  return index + 1;
}

/** Returns the first key behind all keys that begin with `prefix`, or undefined when there is none. */
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

/** The key of an entry in the journal of a partition: a tombstone, or a run of records (`runs.ts`). */
export type JournalKey = [partition: number, seq: number];

/** Every page reads journal keys: they are written and read in place, without a buffer of their own. */
export const journalKeyEncoder = {
  writeKey([partition, seq]: JournalKey, target: Uint8Array, start: number): number {
    return writeNumber(target, writeNumber(target, start, partition), seq);
  },
  readKey(source: Uint8Array, start: number): JournalKey {
    return [readNumber(source, start), readNumber(source, start + NUMBER_BYTES)];
  },
};

export type ObjectKey = [partition: number, id: string];

/** Every written object needs one, so these too are written in place. The id is the rest of the key and needs no end. */
export const objectKeyEncoder = {
  writeKey([partition, id]: ObjectKey, target: Uint8Array, start: number): number {
    if (!id.isWellFormed()) throw new Error('a key text must be well-formed Unicode');
    const at = writeNumber(target, start, partition);
    return at + encoder.encodeInto(id, target.subarray(at)).written;
  },
  readKey(source: Uint8Array, start: number, end: number): ObjectKey {
    return [readNumber(source, start), decoder.decode(source.subarray(start + NUMBER_BYTES, end))];
  },
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The range of all objects of a partition. */
export function objectsOf(partition: number): { start: ObjectKey; end: ObjectKey } {
  return { start: [partition, ''], end: [partition + 1, ''] };
}

/** The range of all journal entries of a partition with a seq above `seq`. */
export function journalAfter(partition: number, seq: number): { start: JournalKey; end: JournalKey } {
  return { start: [partition, seq + 1], end: [partition + 1, 0] };
}

/** The ranges over all partitions. Tables with such keys need both ends of a range. */
export const ALL_JOURNALS: { start: JournalKey; end: JournalKey } = { start: [0, 0], end: [NUMBER_MAX, NUMBER_MAX] };
export const ALL_OBJECTS: { start: ObjectKey; end: ObjectKey } = { start: [0, ''], end: [NUMBER_MAX, ''] };
