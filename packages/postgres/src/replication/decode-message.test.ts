import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage } from './decode-message.ts';
import type { Message, OldTuple, Relation, Tuple, TupleValue } from './message.ts';

/** An encoder after the protocol's documentation, which knows nothing of the decoder. */
class Bytes {
  readonly #parts: Buffer[] = [];

  int(value: number | bigint, size: 1 | 2 | 4 | 8): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)));
    this.#parts.push(bytes.subarray(8 - size));
    return this;
  }

  text(value: string): this {
    this.#parts.push(Buffer.from(value));
    return this;
  }

  string(value: string): this {
    return this.text(value).int(0, 1);
  }

  raw(value: Uint8Array): this {
    this.#parts.push(Buffer.from(value));
    return this;
  }

  tuple(values: Tuple): this {
    this.int(values.length, 2);
    for (const value of values) {
      if (value === undefined) this.text('u');
      else if (value === null) this.text('n');
      else this.text('t').int(Buffer.byteLength(value), 4).text(value);
    }
    return this;
  }

  old(old: OldTuple | null): this {
    return old === null ? this : this.text(old.kind === 'key' ? 'K' : 'O').tuple(old.values);
  }

  get all(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

const YEAR_2000_MS = 946_684_800_000;
const microseconds = (ms: number) => BigInt(ms - YEAR_2000_MS) * 1000n;

function encodeRelation({ id, schema, name, identity, columns }: Relation): Buffer {
  const letter = { default: 'd', nothing: 'n', full: 'f', index: 'i' }[identity];
  const bytes = new Bytes().text('R').int(id, 4).string(schema).string(name).text(letter).int(columns.length, 2);
  for (const column of columns) {
    bytes.int(column.isInIdentity ? 1 : 0, 1).string(column.name);
    bytes.int(column.typeId, 4).int(column.typeModifier, 4);
  }
  return bytes.all;
}

function encode(message: Message): Buffer {
  const bytes = new Bytes();
  switch (message.type) {
    case 'begin':
      return bytes.text('B').int(message.commitLsn, 8).int(microseconds(message.committedAtMs), 8).int(message.xid, 4)
        .all;
    case 'commit':
      bytes.text('C').int(0, 1).int(message.lsn, 8).int(message.endLsn, 8);
      return bytes.int(microseconds(message.committedAtMs), 8).all;
    case 'relation':
      return encodeRelation(message.relation);
    case 'type':
      return bytes.text('Y').int(message.id, 4).string(message.schema).string(message.name).all;
    case 'origin':
      return bytes.text('O').int(message.lsn, 8).string(message.name).all;
    case 'insert':
      return bytes.text('I').int(message.relationId, 4).text('N').tuple(message.row).all;
    case 'update':
      return bytes.text('U').int(message.relationId, 4).old(message.old).text('N').tuple(message.row).all;
    case 'delete':
      return bytes.text('D').int(message.relationId, 4).old(message.old).all;
    case 'truncate':
      bytes.text('T').int(message.relationIds.length, 4).int(3, 1);
      for (const id of message.relationIds) bytes.int(id, 4);
      return bytes.all;
    case 'message':
      bytes
        .text('M')
        .int(message.isTransactional ? 1 : 0, 1)
        .int(message.lsn, 8)
        .string(message.prefix);
      return bytes.int(message.content.length, 4).raw(message.content).all;
  }
}

const id = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const lsn = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const timeMs = fc.integer({ min: 0, max: 4_102_444_800_000 });
const text = fc.string({ unit: 'grapheme', maxLength: 30 });
/** Names have no zero byte, and those of schemas are not empty. */
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).map((value) => value.replaceAll('\0', '-'));
const tuple = fc.array(fc.oneof(text, fc.constant<TupleValue>(null), fc.constant<TupleValue>(undefined)), {
  maxLength: 8,
});
const old = fc.record({ kind: fc.constantFrom('key' as const, 'full' as const), values: tuple });
const column = fc.record({
  name,
  typeId: id,
  typeModifier: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  isInIdentity: fc.boolean(),
});
const relation = fc.record({
  id,
  schema: name,
  name,
  identity: fc.constantFrom('default' as const, 'nothing' as const, 'full' as const, 'index' as const),
  columns: fc.array(column, { maxLength: 6 }),
});
const type = <T extends string>(value: T) => fc.constant(value);

const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ type: type('begin'), commitLsn: lsn, committedAtMs: timeMs, xid: id }),
  fc.record({ type: type('commit'), lsn, endLsn: lsn, committedAtMs: timeMs }),
  fc.record({ type: type('relation'), relation }),
  fc.record({ type: type('type'), id, schema: name, name }),
  fc.record({ type: type('origin'), lsn, name }),
  fc.record({ type: type('insert'), relationId: id, row: tuple }),
  fc.record({ type: type('update'), relationId: id, old: fc.option(old), row: tuple }),
  fc.record({ type: type('delete'), relationId: id, old }),
  fc.record({ type: type('truncate'), relationIds: fc.array(id, { maxLength: 5 }) }),
  fc.record({
    type: type('message'),
    isTransactional: fc.boolean(),
    lsn,
    prefix: name,
    content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  }),
);

describe('decoding messages of pgoutput', () => {
  it('[PG-2] every message that is encoded after the documentation is decoded to what it was', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(decodeMessage(encode(message))).toEqual(message);
      }),
    );
  });

  it('[PG-3] a message that is cut off anywhere, or longer than it should be, is refused', () => {
    fc.assert(
      fc.property(anyMessage, fc.nat(), (message, at) => {
        const bytes = encode(message);
        expect(() => decodeMessage(bytes.subarray(0, at % bytes.length))).toThrow(/ends at byte \d+|an empty message/);
        expect(() => decodeMessage(Buffer.concat([bytes, Buffer.of(0)]))).toThrow('has 1 bytes more than it should');
      }),
    );
  });

  it.each([
    ['', 'the stream of pgoutput has an empty message'],
    ['Z', 'the stream of pgoutput has a message of the unknown kind "Z"'],
    [
      'I\0\0\0\u0001N\0\u0001t\0\0\0\u0009abc',
      'the message "I" of pgoutput ends at byte 16, where 9 bytes from byte 13 on should be',
    ],
    ['I\0\0\0\u0001N\0\u0001b', 'a tuple has a value of the unknown kind "b"'],
    ['I\0\0\0\u0001O', 'an insert has a tuple of the unknown kind "O"'],
    ['U\0\0\0\u0001X', 'an update has a tuple of the unknown kind "X"'],
    ['D\0\0\0\u0001N', 'a delete has a tuple of the unknown kind "N"'],
    ['T\xff\xff\xff\xff\0', 'the message "T" of pgoutput ends at byte 6, where 4 bytes from byte 6 on should be'],
    ['R\0\0\0\u0001public\0orders\0x', 'the replica identity "x" of public.orders is unknown'],
    ['O\0\0\0\0\0\0\0\u0001abc', 'the message "O" of pgoutput ends at byte 12, inside of a text'],
  ])('[PG-3] the bytes %j are refused: %s', (bytes, message) => {
    expect(() => decodeMessage(Buffer.from(bytes, 'latin1'))).toThrow(new Error(message));
  });
});
