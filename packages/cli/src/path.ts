import { usageFailure } from './cli-failure.ts';

/** A path with the values in their places, each kept inside its segment whatever characters it has. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return parts.map((part, index) => part + (index < values.length ? segment(values[index] ?? '') : '')).join('');
}

function segment(value: string): string {
  // Every URL parser takes these for steps up the path, percent-encoded or not.
  if (value === '' || value === '.' || value === '..') {
    throw usageFailure(`${JSON.stringify(value)} cannot be part of a URL`);
  }
  if (!value.isWellFormed()) throw usageFailure(`${JSON.stringify(value)} is not well-formed Unicode`);
  return encodeURIComponent(value);
}
