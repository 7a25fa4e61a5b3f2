import {
  endOfString,
  endOfValue,
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
 *     "id":{"attribute":value,…}                      no attribute has changed since the object was created
 *     "id":{"attribute":value,…}⏎[born,{…},{…}]       otherwise: the marks follow after a line feed
 *
 * The first part is a member of a JSON object, so a page of whole objects consists of these texts joined by commas. JSON
 * text contains no raw line feed, so the marks are recognised by it. The marks hold the seq at which the object was
 * created (or replaced as a whole), the attributes that changed later with their seqs, and the attributes removed since.
 * 0 stands for the record's own seq, because a record is written before its seq is known.
 */
export interface ObjectRecord {
  readonly id: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly marks: Marks;
}

export interface Marks {
  /** The seq at which the object was created or last replaced as a whole. */
  readonly born: number;
  /** Attributes that changed after the creation, with their seqs. */
  readonly touched: ReadonlyMap<string, number>;
  /** Attributes removed after the creation, with their seqs. */
  readonly gone: ReadonlyMap<string, number>;
}

/** Stands for the record's own seq. */
const OWN_SEQ = 0;
const NO_MARKS: ReadonlyMap<string, number> = new Map();

export interface NewRecord {
  readonly record: string;
  readonly checksum: number;
}

/** Returns the record of an object that is created or replaced as a whole. */
export function newRecord(id: string, attributes: ReadonlyMap<string, string>): NewRecord {
  return { record: memberText(id, attributes), checksum: objectChecksum(id, attributes) };
}

/** The same for an object whose canonical text is given. */
export function newRecordFromText(id: string, text: string, attributes: ReadonlyMap<string, string>): NewRecord {
  return {
    record: `${JSON.stringify(id)}:${text}`,
    checksum: plainObjectChecksum(id, text) ?? objectChecksum(id, attributes),
  };
}

/**
 * Returns the record of an object whose attributes become `attributes`. Marks at or below the floor are dropped, because a
 * device with a base below the floor gets the whole object.
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

/** Reads the record at `seq`. */
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

/** Whether the record's object has exactly this text. */
export function isObjectOf(record: string, objectText: string | undefined): boolean {
  if (objectText === undefined) return false;
  const member = wholeMember(record);
  // A member is the id, a colon and the object.
  const start = member.length - objectText.length;
  return start === endOfId(record) + 1 && member.endsWith(objectText);
}

/** Returns the id and checksum of a record, for `verify` of a store. */
export function inspectRecord(record: string): { readonly id: string; readonly checksum: number } {
  const { id, attributes } = readRecord(record, 1);
  return { id, checksum: objectChecksum(id, attributes) };
}

/** The difference for a device that has the object as of `base`. All texts are members of JSON objects. */
export type RecordDelta =
  | { readonly kind: 'whole'; readonly member: string }
  | { readonly kind: 'parts'; readonly patch: string | null; readonly drop: string | null };

/** Returns the record without its marks. */
export function wholeMember(record: string): string {
  if (record.charCodeAt(record.length - 1) === 0x7d) return record;
  return record.slice(0, record.lastIndexOf('\n'));
}

/** `base` is null when the device does not have the object. */
export function deltaSince(record: string, base: number | null): RecordDelta {
  const marksAt = record.lastIndexOf('\n');
  if (marksAt === -1) return { kind: 'whole', member: record };
  if (base === null) return { kind: 'whole', member: record.slice(0, marksAt) };
  const [born, touched, gone] = parseMarks(record, marksAt);
  if (isAfter(born, base)) return { kind: 'whole', member: record.slice(0, marksAt) };
  const idEnd = endOfId(record);
  const id = record.slice(0, idEnd);
  const patch = membersOf(record, { start: idEnd + 1, end: marksAt }, namesAfter(touched, base));
  const drop = gone === undefined ? [] : namesAfter(gone, base).map(nameText);
  return {
    kind: 'parts',
    patch: patch.length === 0 ? null : `${id}:{${patch.join(',')}}`,
    drop: drop.length === 0 ? null : `${id}:[${drop.join(',')}]`,
  };
}

/** The record's own seq is above every base. */
function isAfter(seq: number, base: number): boolean {
  return seq === OWN_SEQ || seq > base;
}

/** Without a map of all marks: an object that is often changed has marks on all its attributes. */
function namesAfter(seqs: SeqsJson, base: number): readonly string[] {
  return Object.keys(seqs).filter((name) => isAfter(seqs[name] ?? 0, base));
}

/** Up to so many members are searched for one by one; more are found by walking over the object once. */
const SEARCHED_MEMBERS_MAX = 8;

/** Returns the members with these names from the object at `place` in the record, as JSON text. */
function membersOf(
  record: string,
  place: { readonly start: number; readonly end: number },
  names: readonly string[],
): readonly string[] {
  const isFlat = record.indexOf('{', place.start + 1) > place.end;
  if (isFlat && names.length <= SEARCHED_MEMBERS_MAX && names.every(isSearchable)) {
    return names.map((name) => searchMember(record, place.start, name));
  }
  const wanted = new Set(names);
  const members: string[] = [];
  eachMember(record, place.start, (name, text) => {
    if (wanted.has(name)) members.push(`${nameText(name)}:${text}`);
  });
  return members;
}

/** Whether a name consists of characters that cannot follow the end of a JSON string. */
function isSearchable(name: string): boolean {
  return /^\w+$/.test(name);
}

/**
 * Finds a member of an object that holds no other object. A quote after a comma or brace begins a string or ends one:
 * inside a string it would follow a backslash. After an end, no character of a searchable name can follow.
 */
function searchMember(record: string, start: number, name: string): string {
  const key = `"${name}":`;
  const at = record.startsWith(key, start + 1) ? start : record.indexOf(`,${key}`, start);
  if (at === -1) throw new Error('the marks of a record name an attribute that it does not have');
  return record.slice(at + 1, endOfValue(record, at + 1 + key.length));
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
  if (record[marksAt] !== '\n') throw new Error('the text after the object of a record is not marks');
  const [born, touched, gone] = parseMarks(record, marksAt);
  return {
    born: born === OWN_SEQ ? ownSeq : born,
    touched: seqsOf(touched, ownSeq),
    gone: gone === undefined ? NO_MARKS : seqsOf(gone, ownSeq),
  };
}

type SeqsJson = Readonly<Record<string, number>>;

/** Parses the marks that follow the line feed at `marksAt`. */
function parseMarks(record: string, marksAt: number): [born: number, touched: SeqsJson, gone?: SeqsJson] {
  return parseJson(record.slice(marksAt + 1)) as [number, SeqsJson, SeqsJson?];
}

function seqsOf(json: SeqsJson, ownSeq: number): ReadonlyMap<string, number> {
  return new Map(Object.entries(json).map(([name, seq]) => [name, seq === OWN_SEQ ? ownSeq : seq]));
}
