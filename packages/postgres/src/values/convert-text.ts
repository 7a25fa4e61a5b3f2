import type { JsonValue } from '@tidemark/protocol';

/** NaN, infinity and what is beyond ±(2^53 − 1) stay text: Tidemark refuses such numbers. */
export function numberOrText(text: string): JsonValue {
  const number = Number(text);
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text;
}

/** `bytea` as Postgres writes it: `\x` and hexadecimal digits. */
export function toBase64(text: string): JsonValue {
  return Buffer.from(text.slice(2), 'hex').toString('base64');
}

/** Postgres fills `char(n)` up with blanks, which mean nothing to it. */
export function withoutPadding(text: string): JsonValue {
  return text.replace(/ +$/, '');
}

/** Years from 1 to 9999 after Christ. Others, and infinity, have no form that every JSON parser's date knows. */
const TIMESTAMP = /^([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9:]{8})(?:\.([0-9]+))?(?:\+00)?$/;
const DIGITS_MAX = 6;

/**
 * ISO 8601 with the number of digits after the second that the column has, so that texts sort as times do. The session's zone
 * is UTC.
 */
export function toFixedFraction(typeModifier: number, zone: '' | 'Z'): (text: string) => JsonValue {
  const digits = typeModifier < 0 ? DIGITS_MAX : typeModifier;
  return (text) => {
    const match = TIMESTAMP.exec(text);
    if (match === null) return text;
    const [, date, time, fraction = ''] = match;
    const padded = digits === 0 ? '' : `.${fraction.padEnd(digits, '0')}`;
    return `${date}T${time}${padded}${zone}`;
  };
}
