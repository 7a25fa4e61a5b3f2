import type { JsonValue } from '@tidemark/protocol';
import { usageFailure } from './cli-failure.ts';

/** An attribute as it is written on a command line: `name=value`. */
export function attributeOf(text: string): readonly [string, JsonValue] {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw usageFailure(`the attribute ${JSON.stringify(text)} is not of the form name=value`);
  }
  return [name, scalarOf(value)];
}

/** What reads as a JSON scalar is one; anything else is text, also a number that would not survive being one. */
function scalarOf(text: string): JsonValue {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}
