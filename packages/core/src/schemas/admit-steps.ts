import {
  type JsonValue,
  nameProblem,
  type Otherwise,
  pointer,
  Refusal,
  SCHEMA_DEPTH_MAX,
  STEP_VALUES_MAX,
  STEPS_MAX,
  type Step,
  stepsProblem,
} from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { admitValue } from '../admission/admit-value.ts';
import { admitFields } from '../entries/admit-fields.ts';

type Path = readonly string[];
type Admit = (value: unknown, path: Path) => unknown;
type Form = Readonly<Record<string, Admit>>;

const inexact: Form = { otherwise: admitOtherwise, shown_as: admitJson };

/** What each step has; members of `INEXACT` may be missing. */
const FORMS: Readonly<Record<Step['step'], Form>> = {
  rename: { attribute: admitAttribute, to: admitAttribute },
  add: { attribute: admitAttribute, value: admitJson },
  remove: { attribute: admitAttribute, ...inexact },
  map: { attribute: admitAttribute, values: admitPairs, ...inexact },
  convert: { attribute: admitAttribute, to: oneOf(['text', 'number', 'list', 'one']), ...inexact },
  nest: { into: admitAttribute, members: membersOf(admitAttribute, admitMember) },
  unnest: { attribute: admitAttribute, members: membersOf(admitMember, admitAttribute), ...inexact },
  split: { attribute: admitAttribute, into: admitAttributes, separator: admitSeparator, ...inexact },
  join: { attributes: admitAttributes, into: admitAttribute, separator: admitSeparator, ...inexact },
};

/** Checks the steps from one version of a schema to the next one. */
export function admitSteps(value: unknown, path: Path = ['steps']): readonly Step[] {
  if (!Array.isArray(value)) throw notAllowed('must be a list of steps', path);
  requireFew(value.length, STEPS_MAX, path);
  const steps = value.map((step, index) => admitStep(step, [...path, String(index)]));
  const problem = stepsProblem(steps);
  if (problem !== null) throw notAllowed(problem.detail, [...path, String(problem.at)]);
  return steps;
}

function admitStep(value: unknown, path: Path): Step {
  const fields = new Map(admitFields(value, path));
  const kind = oneOf(Object.keys(FORMS))(fields.get('step'), [...path, 'step']) as Step['step'];
  const form = FORMS[kind];
  fields.delete('step');
  for (const name of Object.keys(form)) {
    if (!Object.hasOwn(inexact, name) && !fields.has(name)) throw notAllowed(`needs ${quoted(name)}`, path);
  }
  const admitted = [...fields].map(([name, given]) => {
    const here = [...path, name];
    const admit = Object.hasOwn(form, name) ? form[name] : undefined;
    if (admit === undefined) throw notAllowed(`is not a part of a step "${kind}"`, here);
    return [name, admit(given, here)] as const;
  });
  return { step: kind, ...Object.fromEntries(admitted) } as Step;
}

function admitAttribute(value: unknown, path: Path): string {
  const problem = typeof value === 'string' ? nameProblem('attribute', value) : 'must be the name of an attribute';
  if (problem !== null) throw notAllowed(problem, path);
  return value as string;
}

function admitMember(value: unknown, path: Path): string {
  if (typeof value !== 'string' || !value.isWellFormed()) throw notAllowed('must be the name of a member', path);
  if (value === '__proto__') throw notAllowed('must not be "__proto__"', path);
  return value;
}

/** Several attributes that differ. */
function admitAttributes(value: unknown, path: Path): readonly string[] {
  if (!Array.isArray(value) || value.length < 2) throw notAllowed('must be a list of at least two attributes', path);
  requireFew(value.length, STEP_VALUES_MAX, path);
  const names = value.map((name, index) => admitAttribute(name, [...path, String(index)]));
  if (new Set(names).size < names.length) throw notAllowed('names an attribute twice', path);
  return names;
}

/** Pairs of names of which both sides differ from each other. */
function membersOf(admitKey: Admit, admitName: Admit): Admit {
  return (value, path) => {
    const fields = admitFields(value, path);
    if (fields.length === 0) throw notAllowed('must have at least one member', path);
    requireFew(fields.length, STEP_VALUES_MAX, path);
    const names = fields.map(([key, name]) => {
      const here = [...path, key];
      return [admitKey(key, here), admitName(name, here)] as const;
    });
    if (new Set(names.map(([, name]) => name)).size < names.length) throw notAllowed('names a target twice', path);
    return Object.fromEntries(names);
  };
}

function admitPairs(value: unknown, path: Path): readonly (readonly [JsonValue, JsonValue])[] {
  if (!Array.isArray(value) || value.length === 0) throw notAllowed('must be a list of pairs [old, new]', path);
  requireFew(value.length, STEP_VALUES_MAX, path);
  const seen = new Set<string>();
  return value.map((pair, index) => {
    const here = [...path, String(index)];
    if (!Array.isArray(pair) || pair.length !== 2) throw notAllowed('must be a pair [old, new]', here);
    const old = jsonText(pair[0], here);
    jsonText(pair[1], here);
    if (seen.has(old)) throw notAllowed(`maps ${quoted(old)} twice`, here);
    seen.add(old);
    return [pair[0], pair[1]] as const;
  });
}

function admitSeparator(value: unknown, path: Path): string {
  if (typeof value === 'string' && value !== '' && value.isWellFormed()) return value;
  throw notAllowed('must be a text of at least one character', path);
}

function admitOtherwise(value: unknown, path: Path): Otherwise {
  if (value === 'refuse' || value === 'drop' || value === 'nearest') return value;
  const fields = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (fields.length !== 1 || fields[0] !== 'value') {
    throw notAllowed('must be "refuse", "drop", "nearest" or {"value": …}', path);
  }
  const { value: given } = value as { readonly value: unknown };
  return { value: admitJson(given, [...path, 'value']) };
}

function admitJson(value: unknown, path: Path): JsonValue {
  jsonText(value, path);
  return value as JsonValue;
}

function jsonText(value: unknown, path: Path): string {
  return admitValue(value, SCHEMA_DEPTH_MAX, () => pointer(...path));
}

function oneOf(allowed: readonly string[]): Admit {
  return (value, path) => {
    const found = allowed.find((one) => one === value);
    if (found === undefined) throw notAllowed(`must be one of ${allowed.join(', ')}`, path);
    return found;
  };
}

function requireFew(count: number, max: number, path: Path): void {
  if (count <= max) return;
  const detail = `${count} are more than the ${max} allowed`;
  const at = pointer(...path);
  throw new Refusal('limit_exceeded', `${at}: ${detail}`, [{ pointer: at, detail }]);
}

function notAllowed(detail: string, path: Path): Refusal {
  const at = pointer(...path);
  return new Refusal('invalid_value', `${at} ${detail}`, [{ pointer: at, detail }]);
}
