import { ByteReader } from './byte-reader.ts';
import type { Message, OldTuple, Relation, RelationColumn, Tuple, TupleValue } from './message.ts';
import { toUnixMs } from './postgres-time.ts';

/**
 * Decodes one message of the output plugin `pgoutput`, protocol version 1 with logical decoding messages. What it does not
 * know, it refuses: to skip a message would lose a change.
 */
export function decodeMessage(bytes: Uint8Array): Message {
  const letter = bytes.length === 0 ? '' : String.fromCharCode(bytes[0] ?? 0);
  const decode = DECODERS.get(letter);
  if (decode === undefined) {
    const what = letter === '' ? 'an empty message' : `a message of the unknown kind "${letter}"`;
    throw new Error(`the stream of pgoutput has ${what}`);
  }
  const reader = new ByteReader(bytes, `the message "${letter}" of pgoutput`);
  reader.letter();
  const message = decode(reader);
  reader.end();
  return message;
}

const DECODERS: ReadonlyMap<string, (reader: ByteReader) => Message> = new Map([
  ['B', begin],
  ['C', commit],
  ['O', origin],
  ['R', (reader) => ({ type: 'relation', relation: relation(reader) })],
  ['Y', type],
  ['I', insert],
  ['U', update],
  ['D', remove],
  ['T', truncate],
  ['M', logicalMessage],
]);

function begin(reader: ByteReader): Message {
  const commitLsn = reader.uint64();
  const committedAtMs = toUnixMs(reader.int64());
  return { type: 'begin', commitLsn, committedAtMs, xid: reader.uint32() };
}

function commit(reader: ByteReader): Message {
  reader.uint8(); // Flags; none is defined.
  const lsn = reader.uint64();
  const endLsn = reader.uint64();
  return { type: 'commit', lsn, endLsn, committedAtMs: toUnixMs(reader.int64()) };
}

function origin(reader: ByteReader): Message {
  const lsn = reader.uint64();
  return { type: 'origin', lsn, name: reader.terminatedText() };
}

const IDENTITIES: ReadonlyMap<string, Relation['identity']> = new Map([
  ['d', 'default'],
  ['n', 'nothing'],
  ['f', 'full'],
  ['i', 'index'],
]);

function relation(reader: ByteReader): Relation {
  const id = reader.uint32();
  // An empty name stands for the schema of the system.
  const schema = reader.terminatedText() || 'pg_catalog';
  const name = reader.terminatedText();
  const letter = reader.letter();
  const identity = IDENTITIES.get(letter);
  if (identity === undefined) throw new Error(`the replica identity "${letter}" of ${schema}.${name} is unknown`);
  const columns = Array.from({ length: reader.uint16() }, () => relationColumn(reader));
  return { id, schema, name, identity, columns };
}

function relationColumn(reader: ByteReader): RelationColumn {
  const isInIdentity = (reader.uint8() & 1) === 1;
  const name = reader.terminatedText();
  const typeId = reader.uint32();
  return { name, typeId, typeModifier: reader.int32(), isInIdentity };
}

function type(reader: ByteReader): Message {
  const id = reader.uint32();
  const schema = reader.terminatedText() || 'pg_catalog';
  return { type: 'type', id, schema, name: reader.terminatedText() };
}

function insert(reader: ByteReader): Message {
  const relationId = reader.uint32();
  const letter = reader.letter();
  if (letter !== 'N') throw new Error(`an insert has a tuple of the unknown kind "${letter}"`);
  return { type: 'insert', relationId, row: tuple(reader) };
}

function update(reader: ByteReader): Message {
  const relationId = reader.uint32();
  const first = reader.letter();
  if (first === 'N') return { type: 'update', relationId, old: null, row: tuple(reader) };
  const old = oldTuple(reader, first, 'an update');
  const letter = reader.letter();
  if (letter !== 'N') throw new Error(`an update has a tuple of the unknown kind "${letter}"`);
  return { type: 'update', relationId, old, row: tuple(reader) };
}

function remove(reader: ByteReader): Message {
  const relationId = reader.uint32();
  return { type: 'delete', relationId, old: oldTuple(reader, reader.letter(), 'a delete') };
}

function oldTuple(reader: ByteReader, letter: string, what: string): OldTuple {
  if (letter !== 'K' && letter !== 'O') throw new Error(`${what} has a tuple of the unknown kind "${letter}"`);
  return { kind: letter === 'K' ? 'key' : 'full', values: tuple(reader) };
}

function tuple(reader: ByteReader): Tuple {
  return Array.from({ length: reader.uint16() }, () => tupleValue(reader));
}

function tupleValue(reader: ByteReader): TupleValue {
  const letter = reader.letter();
  if (letter === 't') return reader.text(reader.int32());
  if (letter === 'n') return null;
  if (letter === 'u') return undefined;
  throw new Error(`a tuple has a value of the unknown kind "${letter}"`);
}

function truncate(reader: ByteReader): Message {
  const count = reader.uint32();
  reader.uint8(); // CASCADE and RESTART IDENTITY: the tables that a cascade reaches are named as well.
  // Not by Array.from: a wrong count must not allocate before the reader notices that the message ends.
  const relationIds: number[] = [];
  for (let read = 0; read < count; read++) relationIds.push(reader.uint32());
  return { type: 'truncate', relationIds };
}

function logicalMessage(reader: ByteReader): Message {
  const isTransactional = (reader.uint8() & 1) === 1;
  const lsn = reader.uint64();
  const prefix = reader.terminatedText();
  return { type: 'message', isTransactional, lsn, prefix, content: reader.bytes(reader.int32()) };
}
