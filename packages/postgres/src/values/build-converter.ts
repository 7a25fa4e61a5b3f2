import type { JsonValue } from '@tidemark/protocol';
import { numberOrText, toBase64, toFixedFraction, withoutPadding } from './convert-text.ts';
import { parseArray } from './parse-array.ts';
import { fitsTidemark, parseJsonText } from './parse-json-text.ts';
import type { Types } from './type-info.ts';

/** Makes a JSON value of the text that Postgres writes for a value that is not null. */
export type Convert = (text: string) => JsonValue;

/** Numbers of built-in types; they are the same in every database. */
const SCALARS = new Map<number, (typeModifier: number) => Convert>([
  [16, () => (text) => text === 't'], // bool
  [17, () => toBase64], // bytea
  [21, () => Number], // int2
  [23, () => Number], // int4
  [26, () => Number], // oid
  [114, () => parseJsonText], // json
  [700, () => numberOrText], // float4
  [701, () => numberOrText], // float8
  [1042, () => withoutPadding], // bpchar
  [1114, (typeModifier) => toFixedFraction(typeModifier, '')], // timestamp
  [1184, (typeModifier) => toFixedFraction(typeModifier, 'Z')], // timestamptz
  [3802, () => parseJsonText], // jsonb
]);

const asText: Convert = (text) => text;

/** A chain of domains is at most as long as someone typed it; this ends a loop that only a broken catalogue can have. */
const DOMAIN_DEPTH_MAX = 32;

/** Types that are not in `types`, and not built in, stay text. */
export function buildConverter(types: Types, typeId: number, typeModifier = -1): Convert {
  let [id, modifier] = [typeId, typeModifier];
  for (let depth = 0; depth < DOMAIN_DEPTH_MAX; depth++) {
    const scalar = SCALARS.get(id);
    if (scalar !== undefined) return scalar(modifier);
    const type = types.get(id);
    if (type?.kind === 'array') return arrayConverter(buildConverter(types, type.elementId, modifier), type.delimiter);
    if (type?.kind !== 'domain') return asText;
    // The modifier of a column with a domain is that of the domain.
    [id, modifier] = [type.baseId, type.baseModifier];
  }
  return asText;
}

function arrayConverter(element: Convert, delimiter: string): Convert {
  return (text) => {
    const value = parseArray(text, delimiter, element);
    // What a device could not be sent stays as Postgres writes it, so that one row does not hold up all others.
    return fitsTidemark(value) ? value : text;
  };
}
