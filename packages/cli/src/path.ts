import { usageFailure } from './cli-failure.ts';

/** Builds a path from a template; each value is encoded, so that it stays inside its segment. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return parts.map((part, index) => part + (index < values.length ? segment(values[index] ?? '') : '')).join('');
}

function segment(value: string): string {
  // Every URL parser resolves these, percent-encoded or not.
  if (value === '' || value === '.' || value === '..') {
    throw usageFailure(`${JSON.stringify(value)} cannot be part of a URL`);
  }
  if (!value.isWellFormed()) throw usageFailure(`${JSON.stringify(value)} is not well-formed Unicode`);
  return encodeURIComponent(value);
}
