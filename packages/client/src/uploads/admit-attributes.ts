import { DEFAULT_LIMITS, type JsonValue, nameProblem } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import type { Attributes } from '../state/rows.ts';

/** Returns the names of the attributes that an update removes: those with the value undefined. */
export function admitRemoved(given: object): readonly string[] {
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [admitName('attribute', name)] : []));
}

/**
 * Checks attributes as the server will, so that mistakes are reported at once and not when the device is online
 * again. Returns a frozen copy.
 */
export function admitAttributes(given: unknown): Attributes {
  if (!isPlainObject(given)) throw new ClientError('invalid_request', 'attributes must be an object');
  const names = Object.keys(given);
  if (names.length > DEFAULT_LIMITS.attributesPerObjectMax) {
    throw new ClientError('limit_exceeded', `more than ${DEFAULT_LIMITS.attributesPerObjectMax} attributes`);
  }
  const admitted: [string, JsonValue][] = [];
  for (const name of names) {
    const value = given[name];
    // As in JSON, undefined members are omitted.
    if (value === undefined) continue;
    admitName('attribute', name);
    admitted.push([name, copied(value, DEFAULT_LIMITS.valueDepthMax, name)]);
  }
  return Object.freeze(Object.fromEntries(admitted));
}

export function admitName(kind: 'object' | 'attribute', name: unknown): string {
  const problem = typeof name === 'string' ? nameProblem(kind, name) : 'is not a string';
  if (problem === null) return name as string;
  throw new ClientError('invalid_name', `the ${kind} name ${JSON.stringify(name)} ${problem}`);
}

function copied(value: unknown, depthLeft: number, where: string): JsonValue {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return wellFormed(value, where);
  if (typeof value === 'number') return safe(value, where);
  if (depthLeft === 0) throw new ClientError('too_deep', `${where} is nested too deeply`);
  if (Array.isArray(value))
    return Object.freeze(value.map((item) => copied(item, depthLeft - 1, where))) as JsonValue[];
  if (!isPlainObject(value)) throw new ClientError('invalid_request', `${where} is not JSON`);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.freeze(
    Object.fromEntries(
      members.map(([key, member]) => {
        if (key === '__proto__') throw new ClientError('forbidden_key', `${where} has a key "__proto__"`);
        return [wellFormed(key, where), copied(member, depthLeft - 1, where)];
      }),
    ),
  );
}

/**
 * With the flag u a surrogate pair is one character, so this only finds lone surrogates. `isWellFormed` is not
 * available everywhere yet.
 */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

function wellFormed(text: string, where: string): string {
  if (!LONE_SURROGATE.test(text)) return text;
  throw new ClientError('invalid_value', `${where} contains text that is not well-formed Unicode`);
}

function safe(value: number, where: string): number {
  if (Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  throw new ClientError('unsafe_number', `${where} has a number that cannot be kept exactly`);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
