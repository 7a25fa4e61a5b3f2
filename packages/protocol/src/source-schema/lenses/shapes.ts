import { FILE_KEY } from '../../files.ts';
import type { JsonValue } from '../../json/canonical-json.ts';
import type { NestStep, UnnestStep } from '../step.ts';
import { followRule, isJsonObject, type JsonObject, type Lens, put, remove, requireFree } from './lens.ts';

export const nesting: Lens<NestStep> = {
  down(values, { into, members }) {
    const nested = values.get(into);
    if (nested === undefined) return;
    values.delete(into);
    for (const [attribute, member] of Object.entries(members)) {
      const value = memberOf(nested, member);
      if (value !== undefined) values.set(attribute, value);
    }
  },
  up(change, newer, { into, members }) {
    requireFree(change, [into]);
    const nested = new Map(membersOf(newer?.get(into)));
    let isTouched = false;
    for (const [attribute, member] of Object.entries(members)) {
      const value = change.set.get(attribute);
      if (value === undefined && !change.removed.has(attribute)) continue;
      isTouched = true;
      if (value === undefined) nested.delete(member);
      else nested.set(member, value);
      change.set.delete(attribute);
      change.removed.delete(attribute);
    }
    if (!isTouched) return;
    if (nested.size === 0) remove(change, newer, into);
    else put(change, into, Object.fromEntries(nested));
  },
  renew(values, { into, members }) {
    const nested = new Map(membersOf(values.get(into)));
    for (const [attribute, member] of Object.entries(members)) {
      const value = values.get(attribute);
      if (value === undefined) continue;
      if (!nested.has(member)) nested.set(member, value);
      values.delete(attribute);
    }
    if (nested.size > 0) values.set(into, Object.fromEntries(nested));
  },
};

export const unnesting: Lens<UnnestStep> = {
  down(values, { attribute, members }) {
    const nested = new Map<string, JsonValue>();
    for (const [member, now] of Object.entries(members)) {
      const value = values.get(now);
      if (value !== undefined) nested.set(member, value);
      values.delete(now);
    }
    if (nested.size > 0) values.set(attribute, Object.fromEntries(nested));
  },
  up(change, newer, step) {
    const { attribute, members, otherwise } = step;
    requireFree(change, Object.values(members));
    const value = change.set.get(attribute);
    if (value === undefined && !change.removed.delete(attribute)) return;
    const spread = () => {
      change.set.delete(attribute);
      for (const [member, now] of Object.entries(members)) {
        const part = memberOf(value, member);
        if (part === undefined) remove(change, newer, now);
        else put(change, now, part);
      }
    };
    const extra = value === undefined ? undefined : extraIn(value, members);
    if (extra === undefined) spread();
    else {
      const drop = () => void change.set.delete(attribute);
      followRule(otherwise, {
        attribute,
        detail: `${extra} has no place in the newer version`,
        write: drop,
        drop,
        nearest: spread,
      });
    }
  },
  renew(values, { attribute, members, otherwise }) {
    const value = values.get(attribute);
    if (value === undefined || (otherwise !== 'nearest' && extraIn(value, members) !== undefined)) return;
    values.delete(attribute);
    for (const [member, now] of Object.entries(members)) {
      const part = memberOf(value, member);
      if (part !== undefined && !values.has(now)) values.set(now, part);
    }
  },
};

/** Names what a value holds beside the members; undefined: nothing. */
function extraIn(value: JsonValue, members: Readonly<Record<string, string>>): string | undefined {
  if (!isNested(value)) return JSON.stringify(value);
  const extra = Object.keys(value).find((name) => !Object.hasOwn(members, name));
  return extra === undefined ? undefined : `its member ${JSON.stringify(extra)}`;
}

function memberOf(value: JsonValue | undefined, member: string): JsonValue | undefined {
  return isNested(value) && Object.hasOwn(value, member) ? value[member] : undefined;
}

function membersOf(value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  return isNested(value) ? Object.entries(value) : [];
}

/** A reference to a file is one value. */
function isNested(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && !Object.hasOwn(value, FILE_KEY);
}
