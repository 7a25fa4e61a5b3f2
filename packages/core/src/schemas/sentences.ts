import type { ValueFormat } from '@tidemark/protocol';
import type { ErrorObject } from 'ajv';
import { quoted } from '../admission/admit-name.ts';

/** The keyword that stands for `format: "file"`, which says something about objects and not about texts. */
export const FILE_KEYWORD = 'tidemarkFile';

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
  object: 'an object',
  array: 'a list',
};

const FORMAT_WORDS: Readonly<Record<Exclude<ValueFormat, 'file'>, string>> = {
  date: 'a date such as "2030-01-31"',
  'date-time': 'a time with a date and a zone, such as "2030-01-31T12:00:00Z"',
  time: 'a time with a zone, such as "12:00:00Z"',
  email: 'an email address',
  uri: 'a URI such as "https://example.com/"',
  uuid: 'a UUID such as "6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11"',
};

/** The values that a sentence names. */
const SHOWN_VALUES_MAX = 10;

type Sentence = (params: Readonly<Record<string, unknown>>) => string;

const SENTENCES: Readonly<Record<string, Sentence>> = {
  type: ({ type }) => `must be ${listed(typeof type === 'string' ? [type] : (type as readonly string[]))}`,
  enum: ({ allowedValues }) => `must be one of ${valuesText(allowedValues as readonly unknown[])}`,
  const: ({ allowedValue }) => `must be ${valueText(allowedValue)}`,
  format: ({ format }) => `must be ${FORMAT_WORDS[format as Exclude<ValueFormat, 'file'>]}`,
  [FILE_KEYWORD]: () => 'must refer to a file, as {"$file": …} does',
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  minLength: ({ limit }) => `must have at least ${counted(limit, 'character')}`,
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  minItems: ({ limit }) => `must have at least ${counted(limit, 'item')}`,
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'item')}`,
  required: ({ missingProperty }) => `must have ${quoted(String(missingProperty))}`,
  additionalProperties: ({ additionalProperty }) => `must not have ${quoted(String(additionalProperty))}`,
};

/** Returns an error of the check as a sentence without its subject. It says nothing of the value itself. */
export function sentenceOf({ keyword, params }: Pick<ErrorObject, 'keyword' | 'params'>): string {
  const sentence = SENTENCES[keyword];
  if (sentence === undefined) throw new Error(`no schema has the keyword ${keyword}`);
  return sentence(params);
}

function listed(types: readonly string[]): string {
  return types.map((type) => TYPE_WORDS[type] ?? type).join(' or ');
}

/** Names the first of some values, and how many more there are. */
export function valuesText(all: readonly unknown[], separator = ', '): string {
  const shown = all.slice(0, SHOWN_VALUES_MAX).map(valueText).join(separator);
  const more = all.length - SHOWN_VALUES_MAX;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

const VALUE_UNITS_MAX = 80;

function valueText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > VALUE_UNITS_MAX ? `${text.slice(0, VALUE_UNITS_MAX)}…` : text;
}

function counted(limit: unknown, what: string): string {
  return `${String(limit)} ${what}${limit === 1 ? '' : 's'}`;
}
