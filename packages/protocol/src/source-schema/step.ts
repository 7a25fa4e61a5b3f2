import type { JsonValue } from '../json/canonical-json.ts';

/**
 * What becomes of a change of an older app that the newer version cannot express: it is refused, so that the app keeps it as a
 * problem; or the attribute is left out of it; or what comes nearest is written; or a given value.
 */
export type Otherwise = 'refuse' | 'drop' | 'nearest' | { readonly value: JsonValue };

type Inexact = {
  /** Absent: `refuse`. */
  readonly otherwise?: Otherwise;
  /** What older apps see in place of a value that their version cannot express. Absent: the attribute is missing. */
  readonly shown_as?: JsonValue;
};

export type RenameStep = {
  readonly step: 'rename';
  readonly attribute: string;
  readonly to: string;
};

/** Objects of older versions get the value; older apps do not see the attribute. */
export type AddStep = {
  readonly step: 'add';
  readonly attribute: string;
  readonly value: JsonValue;
};

export type RemoveStep = Inexact & {
  readonly step: 'remove';
  readonly attribute: string;
};

/** Each old value becomes a new one. Several old values may become one: older apps see the first of them. */
export type MapStep = Inexact & {
  readonly step: 'map';
  readonly attribute: string;
  readonly values: readonly (readonly [old: JsonValue, now: JsonValue])[];
};

/** A number becomes a text or the reverse; a value becomes a list of it, or the first of a list. */
export type ConvertStep = Inexact & {
  readonly step: 'convert';
  readonly attribute: string;
  readonly to: 'text' | 'number' | 'list' | 'one';
};

/** Attributes become members of one attribute: old attribute → member. */
export type NestStep = {
  readonly step: 'nest';
  readonly into: string;
  readonly members: Readonly<Record<string, string>>;
};

/** Members of an attribute become attributes: member → new attribute. */
export type UnnestStep = Inexact & {
  readonly step: 'unnest';
  readonly attribute: string;
  readonly members: Readonly<Record<string, string>>;
};

/** A text becomes several: at each separator from the left, until there are no attributes left. */
export type SplitStep = Inexact & {
  readonly step: 'split';
  readonly attribute: string;
  readonly into: readonly string[];
  readonly separator: string;
};

/** Several texts become one. */
export type JoinStep = Inexact & {
  readonly step: 'join';
  readonly attributes: readonly string[];
  readonly into: string;
  readonly separator: string;
};

/** One step from a version of a schema to the next one. Types and not interfaces, which would be no `JsonValue`. */
export type Step =
  | RenameStep
  | AddStep
  | RemoveStep
  | MapStep
  | ConvertStep
  | NestStep
  | UnnestStep
  | SplitStep
  | JoinStep;

/** The names that a step takes away from objects, and those that it brings. */
export function namesOf(step: Step): { readonly old: readonly string[]; readonly now: readonly string[] } {
  switch (step.step) {
    case 'rename':
      return { old: [step.attribute], now: [step.to] };
    case 'add':
      return { old: [], now: [step.attribute] };
    case 'remove':
      return { old: [step.attribute], now: [] };
    case 'map':
    case 'convert':
      return { old: [], now: [] };
    case 'nest':
      return { old: Object.keys(step.members), now: [step.into] };
    case 'unnest':
      return { old: [step.attribute], now: Object.values(step.members) };
    case 'split':
      return { old: [step.attribute], now: step.into };
    case 'join':
      return { old: step.attributes, now: [step.into] };
  }
}
