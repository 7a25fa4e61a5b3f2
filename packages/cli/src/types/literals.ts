import type { JsonValue } from '@tidemark/protocol';
import { type Layout, listLayout, recordLayout } from './layout.ts';

/** Returns a text as a literal, with the quotes that need fewer escapes. */
export function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  const quote = countOf(inner, "'") > countOf(inner, '"') ? '"' : "'";
  return `${quote}${inner.replaceAll(quote, `\\${quote}`)}${quote}`;
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Returns a name as the key of a member. */
export function keyText(name: string): string {
  return /^[$_\p{ID_Start}][$\p{ID_Continue}]*$/u.test(name) ? name : quoted(name);
}

/** Returns a value as an expression. */
export function literalOf(value: JsonValue): Layout {
  if (typeof value === 'string') return quoted(value);
  if (isList(value)) return listLayout(value.map(literalOf), isMatrix(value));
  if (!isRecord(value)) return JSON.stringify(value);
  return recordLayout(Object.entries(value).map(([key, member]) => [expressionKey(key), literalOf(member)]));
}

/** Returns a value as the type of that value alone. */
export function literalType(value: JsonValue): string {
  if (typeof value === 'string') return quoted(value);
  if (isList(value)) return `readonly [${value.map(literalType).join(', ')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `readonly ${keyText(key)}: ${literalType(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join('; ')} }`;
}

/** As an ordinary key, this one would set the prototype. */
function expressionKey(key: string): string {
  return key === '__proto__' ? "['__proto__']" : keyText(key);
}

/** Biome writes a list of lists, or of objects, on several lines if each of them has several members. */
function isMatrix(values: readonly JsonValue[]): boolean {
  if (values.length < 2) return false;
  return values.every((value) => isList(value) && value.length > 1) || values.every(isLargeRecord);
}

function isLargeRecord(value: JsonValue): boolean {
  return isRecord(value) && Object.keys(value).length > 1;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isRecord(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !isList(value);
}
