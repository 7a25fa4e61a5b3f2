import { isUtf8 } from 'node:buffer';
import { DEFAULT_LIMITS, type Limits, pointer, Refusal } from '@tidemark/protocol';
import {
  BODY_CONTAINERS_MAX,
  BODY_DEPTH_MAX,
  DEVICE_BODY_CONTAINERS_MAX,
  DEVICE_BODY_DEPTH_SPARE,
  OBJECT_MEMBERS_MAX,
  PARSE_SLICE_BYTES,
} from '../limits.ts';
import { EnvelopeNames, nameOf } from './envelope-names.ts';
import { memberNames, type ParseBounds, parseIncrementally } from './incremental-json-parse.ts';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** Bounds what parsing a body may cost, beside its bytes. */
export type BodyBounds = Pick<ParseBounds, 'depthMax' | 'objectMembersMax' | 'containersMax'>;

/** Lists and objects for each object of the largest write. */
const CONTAINERS_PER_OBJECT = 10;

/** Returns the bounds of bodies that devices send, and of all others. */
export function bodyBounds({ objectsPerWriteMax, valueDepthMax }: Limits): Record<'device' | 'other', BodyBounds> {
  const other = {
    depthMax: BODY_DEPTH_MAX,
    objectMembersMax: Math.max(OBJECT_MEMBERS_MAX, objectsPerWriteMax),
    containersMax: Math.max(BODY_CONTAINERS_MAX, CONTAINERS_PER_OBJECT * objectsPerWriteMax),
  };
  const depthMax = Math.min(BODY_DEPTH_MAX, valueDepthMax + DEVICE_BODY_DEPTH_SPARE);
  return { other, device: { ...other, depthMax, containersMax: DEVICE_BODY_CONTAINERS_MAX } };
}

export const DEFAULT_BODY_BOUNDS = bodyBounds(DEFAULT_LIMITS);

/**
 * Parses the body of a request. Large bodies are parsed in slices, so that other requests get their turn in between.
 */
export async function parseJsonBody(bytes: Buffer, bounds = DEFAULT_BODY_BOUNDS.other): Promise<unknown> {
  if (bytes.length === 0) throw new Refusal('invalid_json', 'the body is empty; send at least {}');
  if (!isUtf8(bytes)) throw new Refusal('invalid_json', 'the body is not UTF-8');
  if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    throw new Refusal('invalid_json', 'the body begins with a byte order mark');
  }
  const names = new EnvelopeNames();
  const parsing = parseIncrementally(bytes, {
    ...bounds,
    sliceBytes: PARSE_SLICE_BYTES,
    onName: names.note,
    onMember: names.noteMember,
    onInnerMember: names.noteInnerMember,
  });
  for (;;) {
    const { done, value } = parsing.next();
    if (done === true) {
      names.requireUnique();
      // Counting the members of a large object takes tens of milliseconds in one piece, so it gets its own turn.
      const isLarge = bytes.length > PARSE_SLICE_BYTES;
      if (isLarge) await nextTurn();
      if (names.hasDuplicateMember(value)) throw await duplicateMember(bytes);
      if (isLarge) await nextTurn();
      return value;
    }
    await nextTurn();
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

const NAMES_PER_TURN = 10_000;
const SHOWN_UNITS_MAX = 80;

/** Finds the member name that occurs twice. `JSON.parse` would silently keep the last one. */
async function duplicateMember(bytes: Buffer): Promise<Refusal> {
  const known = new Set<string>();
  let count = 0;
  for (const { field, quoted } of memberNames(bytes)) {
    const id = nameOf(quoted);
    const key = `${field}:${id}`;
    if (known.has(key)) {
      const [name, at] = [JSON.stringify(id.slice(0, SHOWN_UNITS_MAX).toWellFormed()), pointer(nameOf(field), id)];
      const detail = `${name} occurs twice in ${field}; merge both into one`;
      return new Refusal('duplicate_id', detail, [{ pointer: at, detail: 'stands twice' }]);
    }
    known.add(key);
    if (++count % NAMES_PER_TURN === 0) await nextTurn();
  }
  return new Refusal('duplicate_id', 'a name stands twice in an object of a list; merge both into one');
}
