import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { SettingProblem } from './config-problem.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Given } from './given.ts';
import { SourceSetting } from './source-settings.ts';

const SHOWN_UNITS_MAX = 60;
const PROBLEMS_MAX = 20;

/** What is wrong with a value that somebody gave. */
export function checkValue(given: Given): readonly SettingProblem[] {
  const { setting, value, subject, origin } = given;
  const told = { setting: setting.name, origin: origin.name };
  if (setting.kind === 'list' && Array.isArray(value)) {
    return sourceProblems(value, subject).map((detail) => ({ ...told, detail }));
  }
  if (Value.Check(setting.schema, value)) return [];
  // A secret is never repeated, not even a wrong one.
  const shown = setting.secret ? '' : `, not ${shorten(value)}`;
  return [{ ...told, detail: `${subject} ${setting.rule}${shown}${hintOf(given)}` }];
}

/** The one value that is so often wrong for the same reason that the reason is worth telling. */
function hintOf({ value, subject }: Given): string {
  if (subject !== 'TIDEMARK_PORT' || typeof value !== 'string' || !value.startsWith('tcp://')) return '';
  return '; Kubernetes sets it for a service called tidemark unless enableServiceLinks is false';
}

function sourceProblems(sources: readonly unknown[], subject: string): readonly string[] {
  const problems = sources.flatMap((source, index) => sourceProblem(source, `${subject}, source ${index + 1}:`));
  const names = sources.map((source) => (source as { readonly name?: unknown } | null)?.name);
  const doubled = names.filter((name, index) => typeof name === 'string' && names.indexOf(name) !== index);
  return [...problems, ...doubled.map((name) => `${subject}: ${shorten(name)} is declared twice`)].slice(
    0,
    PROBLEMS_MAX,
  );
}

function sourceProblem(source: unknown, subject: string): readonly string[] {
  if (Value.Check(SourceSetting, source)) return [];
  if (typeof source !== 'object' || source === null || Array.isArray(source)) return [`${subject} must be an object`];
  const attributes: Readonly<Record<string, TSchema>> = SourceSetting.properties;
  const problems = Object.entries(source).flatMap(([name, value]) => {
    const schema = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (schema === undefined) return [unknownAttribute(name, Object.keys(attributes), subject)];
    if (Value.Check(schema, value)) return [];
    return [`${subject} ${name} ${(schema as { readonly rule?: string }).rule}, not ${shorten(value)}`];
  });
  return 'name' in source ? problems : [`${subject} has no name`, ...problems];
}

function unknownAttribute(name: string, known: readonly string[], subject: string): string {
  const meant = didYouMean(name, known);
  return `${subject} ${shorten(name)} is not an attribute of a source${meant === null ? '' : `; did you mean ${meant}?`}`;
}

/** Whoever mistypes an address may have put a password into it. */
const CREDENTIALS = /\/\/[^/@\s]*@/g;

function shorten(value: unknown): string {
  const text = (JSON.stringify(value) ?? String(value)).replace(CREDENTIALS, '//***@');
  return text.length > SHOWN_UNITS_MAX ? `${text.slice(0, SHOWN_UNITS_MAX)}…` : text;
}
