import {
  endOfString,
  GONE_MARKS_MAX,
  objectChecksum,
  parseJson,
  plainObjectChecksum,
  stringOf,
} from '@tidemark/protocol';
import { eachMember, nameText, objectText } from './json-text.ts';

/**
 * The record of an object, as it stands in the journal under its seq:
 *
 *     "id":{"attribute":value,…}                      every attribute is as old as the object's birth at this very seq
 *     "id":{"attribute":value,…}⏎[born,{…},{…}]       otherwise: the marks follow after a line feed
 *
 * The first part is a member of a JSON object, so a page of whole objects is these texts with commas in between. JSON
 * text holds no raw line feed, so the marks cannot be mistaken for anything else. They tell at which seq the object
 * was born (or replaced wholesale), which attributes changed after that and when, and which were removed since. 0
 * stands for the record's own seq: a record is written before its seq is known.
 */
export interface ObjectRecord {
  readonly id: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly marks: Marks;
}

export interface Marks {
  /** The seq at which the object was born or last replaced wholesale. */
  readonly born: number;
  /** Attributes changed after birth; all others are as old as the object. */
  readonly touched: ReadonlyMap<string, number>;
  /** Attributes removed after birth. */
  readonly gone: ReadonlyMap<string, number>;
}

/** The record's own seq, which it does not know yet. */
const OWN_SEQ = 0;
const NO_MARKS: ReadonlyMap<string, number> = new Map();

export interface NewRecord {
  readonly record: string;
  readonly checksum: number;
}

/** The record of an object that is born, or replaced wholesale. */
export function newRecord(id: string, attributes: ReadonlyMap<string, string>): NewRecord {
  return { record: memberText(id, attributes), checksum: objectChecksum(id, attributes) };
}

/** The same of an object of which the canonical text is at hand. */
export function newRecordFromText(id: string, text: string, attributes: ReadonlyMap<string, string>): NewRecord {
  return {
    record: `${JSON.stringify(id)}:${text}`,
    checksum: plainObjectChecksum(id, text) ?? objectChecksum(id, attributes),
  };
}

/**
 * The record of an object whose attributes become `attributes`. Marks at or below the floor are dropped: a device
 * whose base lies below the floor is sent the whole object anyway.
 */
export function changedRecord(
  current: ObjectRecord,
  attributes: ReadonlyMap<string, string>,
  floor: number,
): NewRecord {
  const touched = new Map<string, number>();
  const gone = new Map<string, number>();
  for (const [name, seq] of current.marks.touched) {
    if (seq > floor && attributes.has(name)) touched.set(name, seq);
  }
  for (const [name, seq] of current.marks.gone) {
    if (seq > floor && !attributes.has(name)) gone.set(name, seq);
  }
  for (const [name, text] of attributes) {
    if (current.attributes.get(name) !== text) touched.set(name, OWN_SEQ);
  }
  for (const name of current.attributes.keys()) {
    if (!attributes.has(name)) gone.set(name, OWN_SEQ);
  }
  if (gone.size > GONE_MARKS_MAX) return newRecord(current.id, attributes);
  return {
    record: memberText(current.id, attributes) + marksText(current.marks.born, touched, gone),
    checksum: objectChecksum(current.id, attributes),
  };
}

/** Reads a record that stands at `seq`. */
export function readRecord(record: string, seq: number): ObjectRecord {
  const idEnd = endOfId(record);
  const attributes = new Map<string, string>();
  const memberEnd = eachMember(record, idEnd + 1, (name, text) => attributes.set(name, text));
  return { id: stringOf(record, 0, idEnd), attributes, marks: readMarks(record, memberEnd, seq) };
}

function endOfId(record: string): number {
  const end = endOfString(record, 0);
  if (end === -1) throw new Error('the record has no id');
  return end;
}

export function idOfRecord(record: string): string {
  return stringOf(record, 0, endOfId(record));
}

/** Whether this is, letter for letter, the text of the record's object. */
export function isObjectOf(record: string, objectText: string | undefined): boolean {
  if (objectText === undefined) return false;
  const member = wholeMember(record);
  // The member is the id, a colon and the object: whatever ends like the object and has room for both is the same.
  const start = member.length - objectText.length;
  return start === endOfId(record) + 1 && member.endsWith(objectText);
}

/** What a store's `verify` must know of a record. */
export function inspectRecord(record: string): { readonly id: string; readonly checksum: number } {
  const { id, attributes } = readRecord(record, 1);
  return { id, checksum: objectChecksum(id, attributes) };
}

/** What a device that holds the object as it was at `base` is missing. All texts are members of JSON objects. */
export type RecordDelta =
  | { readonly kind: 'whole'; readonly member: string }
  | { readonly kind: 'parts'; readonly patch: string | null; readonly drop: string | null };

/** The part of the record that is a member of a JSON object. */
export function wholeMember(record: string): string {
  if (record.charCodeAt(record.length - 1) === 0x7d) return record;
  return record.slice(0, record.lastIndexOf('\n'));
}

/** `base` null: the device holds nothing of it. */
export function deltaSince(record: string, base: number | null): RecordDelta {
  const marksAt = record.lastIndexOf('\n');
  if (marksAt === -1) return { kind: 'whole', member: record };
  if (base === null) return { kind: 'whole', member: record.slice(0, marksAt) };
  // The own seq of a record on a page lies above any base, and so may stand for itself.
  const marks = readMarks(record, marksAt, Number.POSITIVE_INFINITY);
  if (marks.born > base) return { kind: 'whole', member: record.slice(0, marksAt) };
  const idEnd = endOfId(record);
  const id = record.slice(0, idEnd);
  return {
    kind: 'parts',
    patch: patchMember(record, idEnd, marks.touched, base),
    drop: dropMember(id, marks.gone, base),
  };
}

function patchMember(record: string, idEnd: number, touched: ReadonlyMap<string, number>, base: number): string | null {
  const members: string[] = [];
  eachMember(record, idEnd + 1, (name, text) => {
    if ((touched.get(name) ?? 0) > base) members.push(`${nameText(name)}:${text}`);
  });
  return members.length === 0 ? null : `${record.slice(0, idEnd)}:{${members.join(',')}}`;
}

function dropMember(id: string, gone: ReadonlyMap<string, number>, base: number): string | null {
  const names = [...gone].filter(([, seq]) => seq > base).map(([name]) => nameText(name));
  return names.length === 0 ? null : `${id}:[${names.join(',')}]`;
}

function memberText(id: string, attributes: ReadonlyMap<string, string>): string {
  return `${JSON.stringify(id)}:${objectText(attributes)}`;
}

function marksText(born: number, touched: ReadonlyMap<string, number>, gone: ReadonlyMap<string, number>): string {
  const goneText = gone.size === 0 ? '' : `,${seqsText(gone)}`;
  return `\n[${born},${seqsText(touched)}${goneText}]`;
}

function seqsText(seqs: ReadonlyMap<string, number>): string {
  return `{${[...seqs].map(([name, seq]) => `${nameText(name)}:${seq}`).join(',')}}`;
}

function readMarks(record: string, marksAt: number, ownSeq: number): Marks {
  if (marksAt === record.length) return { born: ownSeq, touched: NO_MARKS, gone: NO_MARKS };
  if (record[marksAt] !== '\n') throw new Error('a record has something other than marks behind its object');
  const [born, touched, gone] = parseJson(record.slice(marksAt + 1)) as [number, SeqsJson, SeqsJson?];
  return {
    born: born === OWN_SEQ ? ownSeq : born,
    touched: seqsOf(touched, ownSeq),
    gone: gone === undefined ? NO_MARKS : seqsOf(gone, ownSeq),
  };
}

type SeqsJson = Readonly<Record<string, number>>;

function seqsOf(json: SeqsJson, ownSeq: number): ReadonlyMap<string, number> {
  return new Map(Object.entries(json).map(([name, seq]) => [name, seq === OWN_SEQ ? ownSeq : seq]));
}
