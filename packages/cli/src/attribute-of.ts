import type { JsonValue } from '@tidemark/protocol';
import { usageFailure } from './cli-failure.ts';

/** Parses an attribute of the command line: `name=value`. */
export function attributeOf(text: string): readonly [string, JsonValue] {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw usageFailure(`the attribute ${JSON.stringify(text)} is not of the form name=value`);
  }
  return [name, scalarOf(value)];
}

/** Parses a JSON scalar. Anything else is text, also a number that a double cannot hold. */
function scalarOf(text: string): JsonValue {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}
