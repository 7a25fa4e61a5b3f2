import {
  endOfString,
  endOfValue,
  type FileReference,
  fileReferencesInText,
  GONE_MARKS_MAX,
  mayHaveFiles,
  objectChecksum,
  parseJson,
  plainObjectChecksum,
  splitMembers,
  stringOf,
} from '@tidemark/protocol';
import type { Change, ReadRecord } from '../ports/store.ts';
import { AttributeTexts, nameText } from './attribute-texts.ts';

/**
 * The record of an object, as it stands in the journal under its seq:
 *
 *     "id":{"attribute":value,…}                      no attribute has changed since the object was created
 *     "id":{"attribute":value,…}⏎[born,[…],[…]]       otherwise: the marks follow after a line feed
 *
 * The first part is a member of a JSON object, so a page of whole objects consists of these texts joined by commas. JSON
 * text contains no raw line feed, so the marks are recognised by it. The marks hold the seq at which the object was
 * created (or replaced as a whole), the attributes removed since with their seqs (`"name",seq,…`), and in the same way those
 * that changed, the latest first: a page reads them only down to the seq that the device has. 0 stands for the record's own
 * seq, because a record is written before its seq is known. A third list may follow: attributes that a conversion to another
 * version of the schema wrote or took away, with the seqs of what it made them of. Earlier versions wrote `[born,{changed},{removed}]`, with the
 * seqs as members in any order.
 */
export class ObjectRecord {
  readonly attributes: AttributeTexts;
  readonly #record: string;
  readonly #seq: number;
  readonly #idEnd: number;
  readonly #marksAt: number;
  #marks: Marks | null = null;

  /** `seq` is that of the record in the journal. */
  constructor(record: string, seq: number) {
    const lineEnd = record.indexOf('\n');
    this.#record = record;
    this.#seq = seq;
    this.#idEnd = endOfId(record);
    this.#marksAt = lineEnd === -1 ? record.length : lineEnd;
    this.attributes = AttributeTexts.inText(record.slice(this.#idEnd + 1, this.#marksAt));
  }

  get id(): string {
    return stringOf(this.#record, 0, this.#idEnd);
  }

  get marks(): Marks {
    this.#marks ??= readMarks(this.#record, this.#marksAt, this.#seq);
    return this.#marks;
  }
}

export interface Marks {
  /** The seq at which the object was created or last replaced as a whole. */
  readonly born: number;
  /** Attributes that changed after the creation, with their seqs, the latest first. */
  readonly touched: ReadonlyMap<string, number>;
  /** Attributes removed after the creation, with their seqs. */
  readonly gone: ReadonlyMap<string, number>;
  /** Attributes that a conversion wrote or took away, with the seqs at which somebody had changed what it made them of. Absent: none. */
  readonly carried?: ReadonlyMap<string, number>;
}

/** The seq at which somebody last changed an attribute. One that was never changed, present or not, is as old as the object. */
export function changedAt(name: string, { carried, touched, gone, born }: Marks): number {
  return carried?.get(name) ?? touched.get(name) ?? gone.get(name) ?? born;
}

/** Stands for the record's own seq. */
const OWN_SEQ = 0;
const NO_MARKS: SeqsByName = new Map();
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

export interface NewRecord {
  readonly record: string;
  readonly checksum: number;
  /** The files it refers to. Absent: none. */
  readonly files?: readonly string[];
  /** Those of them that the object did not refer to before, each once. Absent: none. */
  readonly added?: readonly FileReference[];
}

/** A change of an object, with the references to files that it adds. */
export type ObjectChange = Change & Pick<NewRecord, 'added'>;

/** Returns the record of an object that is created or replaced as a whole. */
export function newRecord(id: string, attributes: AttributeTexts): NewRecord {
  const { text } = attributes;
  const checksum = plainObjectChecksum(id, text) ?? objectChecksum(id, attributes);
  const record = `${JSON.stringify(id)}:${text}`;
  const files = filesIn(text);
  return files === null
    ? { record, checksum }
    : { record, checksum, files: [...files.keys()], added: [...files.values()] };
}

/** Returns the files that attributes refer to, each once and ascending by its hash; null: none. */
function filesIn(text: string): ReadonlyMap<string, FileReference> | null {
  if (!mayHaveFiles(text)) return null;
  const references = fileReferencesInText(text).map((reference) => [reference.sha256, reference] as const);
  return references.length === 0 ? null : new Map(references.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * Returns the record of an object whose attributes become `next`. Marks at or below the floor are dropped, because a
 * device with a base below the floor gets the whole object.
 */
export function changedRecord(
  { id, attributes, marks }: ObjectRecord,
  next: AttributeTexts,
  floor: number,
  carried: SeqsByName = NO_MARKS,
): NewRecord {
  const whole = withoutOldFiles(newRecord(id, next), attributes.text);
  const gone: string[] = [];
  for (const [name, seq] of marks.gone) {
    if (seq > floor && !next.has(name)) gone.push(`${nameText(name)},${seq}`);
  }
  const { names, values } = attributes.members;
  for (const [at, name] of names.entries()) {
    if (next.find(name, at) === -1) gone.push(`${name},${OWN_SEQ}`);
  }
  if (gone.length > GONE_MARKS_MAX) return whole;
  const touched: string[] = [];
  for (const [at, name] of next.members.names.entries()) {
    if (values[attributes.find(name, at)] !== next.members.values[at]) touched.push(`${name},${OWN_SEQ}`);
  }
  for (const [name, seq] of marks.touched) {
    if (seq > floor && next.get(name) === attributes.get(name)) touched.push(`${nameText(name)},${seq}`);
  }
  const third = carriedText([...keptOf(marks, { attributes, next, floor }), ...carried]);
  return { ...whole, record: `${whole.record}\n[${marks.born},[${gone.join(',')}],[${touched.join(',')}]${third}]` };
}

/** What a conversion has carried over holds until the attribute changes; that of one it took away, as long as the mark says so. */
function keptOf(
  { carried = NO_MARKS, gone }: Marks,
  {
    attributes,
    next,
    floor,
  }: { readonly attributes: AttributeTexts; readonly next: AttributeTexts; readonly floor: number },
): readonly (readonly [string, number])[] {
  return [...carried].filter(([name, seq]) => {
    const isMarked = next.has(name) || (gone.get(name) ?? 0) > floor;
    return next.get(name) === attributes.get(name) && (seq > floor || isMarked);
  });
}

function carriedText(seqs: readonly (readonly [string, number])[]): string {
  if (seqs.length === 0) return '';
  return `,[${Array.from(new Map(seqs), ([name, seq]) => `${nameText(name)},${seq}`).join(',')}]`;
}

/** Leaves out of `added` what the object refers to already. */
function withoutOldFiles(record: NewRecord, before: string): NewRecord {
  const old = record.added === undefined ? null : filesIn(before);
  if (old === null) return record;
  const { added = [], ...rest } = record;
  const fresh = added.filter(({ sha256 }) => !old.has(sha256));
  return fresh.length === 0 ? rest : { ...rest, added: fresh };
}

/** Calls `visit` with every attribute of the object and its JSON text. Returns the id of the object. */
export function eachAttribute(record: string, visit: (name: string, text: string) => void): string {
  const idEnd = endOfId(record);
  const { names, values } = splitMembers(record, idEnd + 1);
  for (const [at, name] of names.entries()) visit(stringOf(name, 0, name.length), values[at] ?? '');
  return stringOf(record, 0, idEnd);
}

function endOfId(record: string): number {
  const end = endOfString(record, 0);
  if (end === -1) throw new Error('the record has no id');
  return end;
}

export function idOfRecord(record: string): string {
  return stringOf(record, 0, endOfId(record));
}

/** Returns the id and checksum of a record, for `verify` of a store. */
export function inspectRecord(record: string): ReadRecord {
  const { id, attributes, marks } = new ObjectRecord(record, 1);
  if (marks.born < 1) throw new Error('the marks of a record are damaged');
  const files = filesIn(attributes.text);
  const read = { id, checksum: objectChecksum(id, attributes) };
  return files === null ? read : { ...read, files: [...files.keys()] };
}

/** The difference for a device that has the object as of `base`. All texts are members of JSON objects. */
export type RecordDelta =
  | { readonly kind: 'whole'; readonly member: string }
  | { readonly kind: 'parts'; readonly patch: string | null; readonly drop: string | null };

/** Returns the record without its marks. */
export function wholeMember(record: string): string {
  if (record.charCodeAt(record.length - 1) === 0x7d) return record;
  return record.slice(0, record.indexOf('\n'));
}

/** `base` is null when the device does not have the object. */
export function deltaSince(record: string, base: number | null): RecordDelta {
  const marksAt = record.indexOf('\n');
  if (marksAt === -1) return { kind: 'whole', member: record };
  if (base === null) return { kind: 'whole', member: record.slice(0, marksAt) };
  const { born, touched, gone } = marksAfter(record, marksAt, base);
  if (isAfter(born, base)) return { kind: 'whole', member: record.slice(0, marksAt) };
  const idEnd = endOfId(record);
  const id = record.slice(0, idEnd);
  const patch = membersOf(record, { start: idEnd + 1, end: marksAt }, touched);
  const drop = gone.map(nameText);
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

/** The attributes with marks after a base. */
interface MarksAfter {
  readonly born: number;
  readonly touched: readonly string[];
  readonly gone: readonly string[];
}

/** Reads no more of the marks than needed: an object that is often changed has marks on all its attributes. */
function marksAfter(record: string, marksAt: number, base: number): MarksAfter {
  const bornEnd = record.indexOf(',', marksAt);
  if (record.charCodeAt(bornEnd + 1) !== OPEN_BRACKET) {
    const { born, touched, gone } = readMarks(record, marksAt, Number.MAX_SAFE_INTEGER);
    const namesIn = (seqs: SeqsByName) => [...seqs.keys()].filter((name) => (seqs.get(name) ?? 0) > base);
    return { born, touched: namesIn(touched), gone: namesIn(gone) };
  }
  const born = Number(record.slice(marksAt + 2, bornEnd));
  const gone: string[] = [];
  const goneEnd = eachSeq(record, bornEnd + 1, (name, seq) => {
    if (isAfter(seq, base)) gone.push(name);
    return true;
  });
  const touched: string[] = [];
  eachSeq(record, goneEnd + 1, (name, seq) => {
    if (!isAfter(seq, base)) return false;
    touched.push(name);
    return true;
  });
  return { born, touched, gone };
}

/**
 * Calls `visit` with each name and seq of the list that starts at `start`, until it returns false. Returns the index behind
 * the list, if it was read to its end.
 */
function eachSeq(record: string, start: number, visit: (name: string, seq: number) => boolean): number {
  let at = start + 1;
  while (record.charCodeAt(at) !== CLOSE_BRACKET) {
    if (record.charCodeAt(at) === COMMA) at++;
    const nameEnd = endOfString(record, at);
    if (nameEnd === -1) throw new Error('the marks of a record are not complete');
    let seqEnd = nameEnd + 1;
    while (isDigit(record.charCodeAt(seqEnd))) seqEnd++;
    if (!visit(stringOf(record, at, nameEnd), Number(record.slice(nameEnd + 1, seqEnd)))) break;
    at = seqEnd;
  }
  return at + 1;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Up to so many members are searched for one by one; more are found by walking over the object once. */
const SEARCHED_MEMBERS_MAX = 8;

/** Returns the members with these names from the object at `place` in the record, as JSON text. */
function membersOf(
  record: string,
  place: { readonly start: number; readonly end: number },
  names: readonly string[],
): readonly string[] {
  const nested = record.indexOf('{', place.start + 1);
  const isFlat = nested === -1 || nested > place.end;
  if (isFlat && names.length <= SEARCHED_MEMBERS_MAX && names.every(isSearchable)) {
    return names.map((name) => searchMember(record, place.start, name));
  }
  const wanted = new Set(names.map(nameText));
  const object = splitMembers(record, place.start);
  return object.names.flatMap((name, at) => (wanted.has(name) ? `${name}:${object.values[at]}` : []));
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

function readMarks(record: string, marksAt: number, ownSeq: number): Marks {
  if (marksAt === record.length) return { born: ownSeq, touched: NO_MARKS, gone: NO_MARKS };
  const [born, first, second = [], third] = parseJson(record.slice(marksAt + 1)) as MarksJson;
  const marks = Array.isArray(first)
    ? { gone: seqsOf(first, ownSeq), touched: seqsOf(second, ownSeq) }
    : { gone: seqsOf(second, ownSeq), touched: latestFirst(seqsOf(first, ownSeq)) };
  const carried = third === undefined ? {} : { carried: seqsOf(third, ownSeq) };
  return { born: born || ownSeq, ...marks, ...carried };
}

type SeqsByName = ReadonlyMap<string, number>;
/** A list of names and seqs; of earlier versions, an object. */
type SeqsJson = readonly (string | number)[] | Readonly<Record<string, number>>;
type MarksJson = readonly [born: number, gone: SeqsJson, touched?: SeqsJson, carried?: SeqsJson];

function seqsOf(json: SeqsJson, ownSeq: number): SeqsByName {
  const list = Array.isArray(json) ? (json as readonly (string | number)[]) : Object.entries(json).flat();
  if (list.length === 0) return NO_MARKS;
  const seqs = new Map<string, number>();
  for (let at = 0; at < list.length; at += 2) seqs.set(String(list[at]), Number(list[at + 1]) || ownSeq);
  return seqs;
}

function latestFirst(seqs: SeqsByName): SeqsByName {
  return new Map([...seqs].sort(([, one], [, other]) => other - one));
}
