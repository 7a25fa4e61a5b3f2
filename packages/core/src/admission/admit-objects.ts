import { type Limits, mayHaveFiles, parseJson, pointer, Refusal } from '@tidemark/protocol';
import { AttributeTexts } from '../journal/attribute-texts.ts';
import type { Pace } from '../ports/pace.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { requireFileReferences } from './admit-files.ts';
import { admitName, quoted } from './admit-name.ts';
import { admitValue } from './admit-value.ts';
import type { ObjectTexts } from './admitted.ts';
import { wholeText } from './is-canonical.ts';

/** The limits that concern objects. */
export type ObjectLimits = Pick<
  Limits,
  'objectsPerWriteMax' | 'attributesPerObjectMax' | 'valueDepthMax' | 'writeUnitsMax'
>;

/**
 * Checks a hash of hashes from a request. One invalid object refuses all of them. An object without attributes is
 * accepted; its meaning depends on the operation. `field` is the name of the objects in the request.
 */
export function admitObjects(objects: unknown, limits: ObjectLimits, field: string): ObjectTexts {
  return runToEnd(admitStepwise(objects, limits, field));
}

/** The same for writes that may be large, with pauses for other work. */
export async function admitManyObjects(
  objects: unknown,
  limits: ObjectLimits,
  field: string,
  pace: Pace,
): Promise<ObjectTexts> {
  const admitting = admitStepwise(objects, limits, field);
  for (;;) {
    const { done, value } = admitting.next();
    if (done === true) return value;
    await pace.turn();
  }
}

function* admitStepwise(objects: unknown, limits: ObjectLimits, field: string): Generator<void, ObjectTexts> {
  const given = requireObject(objects, () => pointer(field));
  const ids = Object.keys(given);
  requireCount(ids.length, limits.objectsPerWriteMax, 'objects', () => pointer(field));
  const admitted = new Map<string, AttributeTexts>();
  const tally = newTally();
  for (const id of ids) {
    refuseProto(id, () => pointer(field));
    admitName('object', id, () => pointer(field, id));
    tally.units += id.length;
    if (tally.budget.isSpent(id.length)) yield;
    const path = [field, id];
    const whole = attributesAsText(given[id], limits, path, tally);
    admitted.set(id, whole ?? (yield* attributesStepwise(given[id], limits, path, tally)));
    if (whole !== null && tally.budget.isSpent(whole.text.length)) yield;
    if (tally.units > limits.writeUnitsMax) throw tooLarge(limits.writeUnitsMax);
  }
  return admitted;
}

/** Counters over all objects of one write. */
interface Tally {
  units: number;
  readonly budget: WorkBudget;
}

function newTally(): Tally {
  return { units: 0, budget: new WorkBudget() };
}

/** Names of attributes that were checked already: objects of one source mostly have the same attributes. */
const goodNames = new Set<string>();
const GOOD_NAMES_MAX = 10_000;

function noteGoodName(name: string): void {
  // Clearing them is cheaper than tracking which names were used last, and rare.
  if (goodNames.size >= GOOD_NAMES_MAX) goodNames.clear();
  goodNames.add(name);
}

/** Checks the attributes of one object. */
export function admitAttributes(attributes: unknown, limits: ObjectLimits, path: readonly string[]): AttributeTexts {
  return runToEnd(attributesStepwise(attributes, limits, path, newTally()));
}

/** Checks the attributes as a whole. Returns null when they have to be checked one by one. */
function attributesAsText(
  attributes: unknown,
  limits: ObjectLimits,
  path: readonly string[],
  tally: Tally,
): AttributeTexts | null {
  if (typeof attributes !== 'object' || attributes === null) return null;
  const given = attributes as Readonly<Record<string, unknown>>;
  const names = Object.keys(given);
  if (names.length > limits.attributesPerObjectMax) return null;
  const text = wholeText(given, names, { goodNames, depthMax: limits.valueDepthMax });
  if (text === null) return null;
  if (mayHaveFiles(text)) requireFileReferences(given, path);
  tally.units += text.length - punctuationUnits(names.length);
  return AttributeTexts.inText(text);
}

/** The length of braces, quotes of names, colons and commas, which do not count towards the limit. */
function punctuationUnits(attributes: number): number {
  return attributes === 0 ? 2 : 4 * attributes + 1;
}

function* attributesStepwise(
  attributes: unknown,
  limits: ObjectLimits,
  path: readonly string[],
  tally: Tally,
): Generator<void, AttributeTexts> {
  const here = () => pointer(...path);
  const [, id] = path;
  const given = id === undefined ? requireObject(attributes, here) : requireAttributes(attributes, id, here);
  const names = Object.keys(given);
  requireCount(names.length, limits.attributesPerObjectMax, 'attributes', here);
  const texts: [name: string, text: string][] = [];
  let hasFiles = false;
  for (const name of names) {
    const there = () => pointer(...path, name);
    if (!goodNames.has(name)) {
      refuseProto(name, here);
      noteGoodName(admitName('attribute', name, there));
    }
    const text = admitValue(given[name], limits.valueDepthMax, there);
    tally.units += name.length + text.length;
    texts.push([name, text]);
    hasFiles ||= mayHaveFiles(text);
    if (tally.budget.isSpent(text.length)) yield;
  }
  const attributesTexts = AttributeTexts.of(texts);
  if (hasFiles) requireFileReferences(parseJson(attributesTexts.text) as typeof given, path);
  return attributesTexts;
}

function runToEnd<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Checks a list of object ids from a request. An id given twice counts once. */
export function admitIds(ids: unknown, limits: ObjectLimits, field: string): ReadonlySet<string> {
  if (!Array.isArray(ids)) {
    throw new Refusal('invalid_request', `${field} must be a list of object ids`, [
      { pointer: pointer(field), detail: 'must be a list of object ids' },
    ]);
  }
  requireCount(ids.length, limits.objectsPerWriteMax, 'objects', () => pointer(field));
  const admitted = new Set<string>();
  let units = 0;
  for (const [index, id] of ids.entries()) {
    const here = () => pointer(field, index);
    if (id === '__proto__') refuseProto(id, here);
    const name = admitName('object', id, here);
    units += name.length;
    if (units > limits.writeUnitsMax) throw tooLarge(limits.writeUnitsMax);
    admitted.add(name);
  }
  return admitted;
}

/** Checks the ids of `deletes` in a write that also has objects: together they are one write, and no id is in both. */
export function admitIdsBeside(objects: ObjectTexts, deletes: unknown, limits: ObjectLimits): ReadonlySet<string> {
  const ids = admitIds(deletes, limits, 'deletes');
  requireCount(objects.size + ids.size, limits.objectsPerWriteMax, 'objects', () => pointer('deletes'));
  for (const id of ids) {
    if (!objects.has(id)) continue;
    const detail = `${quoted(id)} is in objects as well; send it in one of both`;
    throw new Refusal('invalid_value', `deletes: ${detail}`, [{ pointer: pointer('deletes'), detail }]);
  }
  return ids;
}

function requireObject(value: unknown, at: () => string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Refusal('invalid_request', `${at()} must be an object`, [{ pointer: at(), detail: 'must be an object' }]);
}

/** The same for one object of a hash of hashes; the message names its id. */
function requireAttributes(value: unknown, id: string, at: () => string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const detail = `expected an object of attributes, got ${kindOf(value)}`;
  throw new Refusal('invalid_request', `object ${quoted(id)}: ${detail}`, [{ pointer: at(), detail }]);
}

/** Names the kind of a value, but nothing of its content. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function requireCount(count: number, max: number, what: string, at: () => string): void {
  if (count <= max) return;
  const detail = `${count} ${what} are more than the ${max} allowed`;
  throw new Refusal('limit_exceeded', detail, [{ pointer: at(), detail }]);
}

function refuseProto(key: string, at: () => string): void {
  if (key !== '__proto__') return;
  const detail = 'the key "__proto__" is not allowed';
  throw new Refusal('forbidden_key', `${detail} (at ${at()})`, [{ pointer: at(), detail }]);
}

function tooLarge(unitsMax: number): Refusal {
  return new Refusal('body_too_large', `the objects are larger than the ${unitsMax} characters allowed in one write`);
}
