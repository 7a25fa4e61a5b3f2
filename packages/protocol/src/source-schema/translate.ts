import type { JsonValue } from '../json/canonical-json.ts';
import { type Change, type Lens, Untranslatable, type Values } from './lenses/lens.ts';
import { add, removal, rename } from './lenses/names.ts';
import { nesting, unnesting } from './lenses/shapes.ts';
import { joining, splitting } from './lenses/texts.ts';
import { conversion, mapping } from './lenses/values.ts';
import { namesOf, type Step } from './step.ts';

export { Untranslatable };

export type AttributeValues = { readonly [name: string]: JsonValue };

/** What a change sets and removes. */
export interface AttributeChange {
  readonly set: AttributeValues;
  readonly removed: readonly string[];
}

const LENSES: { readonly [K in Step['step']]: Lens<Extract<Step, { readonly step: K }>> } = {
  rename,
  add,
  remove: removal,
  map: mapping,
  convert: conversion,
  nest: nesting,
  unnest: unnesting,
  split: splitting,
  join: joining,
};

/** Returns the attributes of an object of the newest version as an app of the version before the steps knows them. */
export function toOlder(attributes: AttributeValues, steps: readonly Step[]): AttributeValues {
  if (steps.length === 0) return attributes;
  const values = new Map(Object.entries(attributes));
  for (let at = steps.length - 1; at >= 0; at--) down(values, steps[at] as Step);
  return Object.fromEntries(values);
}

/**
 * Returns a change that an app of the version before the steps has made as one of the newest version. `current` is the object
 * in the newest version; null: the change creates it. Throws `Untranslatable` if a part of the change cannot be expressed, and no
 * rule of the step says what to do.
 */
export function toNewer(
  change: AttributeChange,
  current: AttributeValues | null,
  steps: readonly Step[],
): AttributeChange {
  if (steps.length === 0) return change;
  const states = statesAfter(current, steps);
  const translated: Change = { set: new Map(Object.entries(change.set)), removed: new Set(change.removed) };
  for (const [at, step] of steps.entries()) lensOf(step).up(translated, states[at] ?? null, step);
  return { set: Object.fromEntries(translated.set), removed: [...translated.removed] };
}

/**
 * Returns the attributes of an object in the newest version, given those of the version before the steps or of the newest one. What
 * cannot be expressed stays as it is.
 */
export function renewed(attributes: AttributeValues, steps: readonly Step[]): AttributeValues {
  if (steps.length === 0) return attributes;
  const values = new Map(Object.entries(attributes));
  for (const step of steps) lensOf(step).renew(values, step);
  return Object.fromEntries(values);
}

/** Returns the entries by the names that the attributes had before the steps. Names that no attribute of then stands for are left out. */
export function namedAsBefore<T>(
  entries: Readonly<Record<string, T>>,
  steps: readonly Step[],
): Readonly<Record<string, T>> {
  const named = new Map(Object.entries(entries));
  for (let at = steps.length - 1; at >= 0; at--) {
    const step = steps[at] as Step;
    const [name] = namesOf(step).now;
    const entry = step.step === 'rename' && name !== undefined ? named.get(name) : undefined;
    for (const now of namesOf(step).now) named.delete(now);
    if (step.step === 'rename' && entry !== undefined) named.set(step.attribute, entry);
  }
  return Object.fromEntries(named);
}

/** The object as it is after each of the steps. */
function statesAfter(current: AttributeValues | null, steps: readonly Step[]): readonly (Values | null)[] {
  if (current === null) return steps.map(() => null);
  const states: Values[] = [];
  const values = new Map(Object.entries(current));
  for (let at = steps.length - 1; at >= 0; at--) {
    states[at] = new Map(values);
    down(values, steps[at] as Step);
  }
  return states;
}

function down(values: Values, step: Step): void {
  lensOf(step).down(values, step);
}

function lensOf(step: Step): Lens<Step> {
  return LENSES[step.step] as Lens<Step>;
}
