import { didYouMean } from '@tidemark/protocol';
import type { TObject, TSchema } from '@tidemark/protocol/typebox';
import { Check } from '@tidemark/protocol/typebox';
import type { SettingProblem } from './config-problem.ts';
import type { SettingValue } from './setting-value.ts';

const SHOWN_UNITS_MAX = 60;
const PROBLEMS_MAX = 20;

/** Returns the problems of a given value. */
export function checkValue(given: SettingValue): readonly SettingProblem[] {
  const { setting, value, subject, origin } = given;
  const about = { setting: setting.name, origin: origin.name };
  if (setting.kind === 'list' && Array.isArray(value)) {
    return listProblems(value, itemsOf(setting), subject).map((detail) => ({ ...about, detail }));
  }
  if (Check(setting.schema, value)) return [];
  // Secrets are never shown, not even wrong ones.
  const shown = setting.secret ? '' : `, not ${shorten(value)}`;
  return [{ ...about, detail: `${subject} ${setting.rule}${shown}${hintOf(given)}` }];
}

/** Explains the most common mistake with a value. */
function hintOf({ value, subject }: SettingValue): string {
  if (subject !== 'TIDEMARK_PORT' || typeof value !== 'string' || !value.startsWith('tcp://')) return '';
  return '; Kubernetes sets it for a service called tidemark unless enableServiceLinks is false';
}

/** The item type of a list, and the word for one item. */
interface Items {
  readonly word: string;
  readonly schema: TObject;
}

function itemsOf({ name, schema }: SettingValue['setting']): Items {
  return { word: name.replace(/s$/, ''), schema: (schema as TSchema & { readonly items: TObject }).items };
}

function listProblems(list: readonly unknown[], items: Items, subject: string): readonly string[] {
  const problems = list.flatMap((item, index) => itemProblem(item, items, `${subject}, ${items.word} ${index + 1}:`));
  const doubled = UNIQUE.flatMap((attribute) => {
    const values = list.map((item) => (item as Readonly<Record<string, unknown>> | null)?.[attribute]);
    return values.filter((value, index) => typeof value === 'string' && values.indexOf(value) !== index);
  });
  return [...problems, ...doubled.map((name) => `${subject}: ${shorten(name)} is declared twice`)].slice(
    0,
    PROBLEMS_MAX,
  );
}

/** Attributes that no two items of a list may share. */
const UNIQUE = ['name', 'issuer'] as const;

function itemProblem(item: unknown, { word, schema: whole }: Items, subject: string): readonly string[] {
  if (Check(whole, item)) return [];
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return [`${subject} must be an object`];
  const attributes: Readonly<Record<string, TSchema>> = whole.properties;
  const problems = Object.entries(item).flatMap(([name, value]) => {
    const schema = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (schema === undefined) return [unknownAttribute(name, Object.keys(attributes), word, subject)];
    if (Check(schema, value)) return [];
    const { rule, secret } = schema as { readonly rule?: string; readonly secret?: true };
    return [`${subject} ${name} ${rule}${secret ? '' : `, not ${shorten(value)}`}`];
  });
  const missing = (whole.required as readonly string[]).filter((name) => !(name in item));
  return [...missing.map((name) => `${subject} has no ${name}`), ...problems];
}

function unknownAttribute(name: string, known: readonly string[], word: string, subject: string): string {
  const meant = didYouMean(name, known);
  return `${subject} ${shorten(name)} is not an attribute of a ${word}${meant === null ? '' : `; did you mean ${meant}?`}`;
}

/** Credentials in a mistyped URL. */
const CREDENTIALS = /\/\/[^/@\s]*@/g;

function shorten(value: unknown): string {
  const text = (JSON.stringify(value) ?? String(value)).replace(CREDENTIALS, '//***@');
  return text.length > SHOWN_UNITS_MAX ? `${text.slice(0, SHOWN_UNITS_MAX)}…` : text;
}
