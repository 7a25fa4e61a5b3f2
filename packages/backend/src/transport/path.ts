import { TidemarkError } from './tidemark-error.ts';

/** A template tag that encodes each value as one segment of the path. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return parts.map((part, index) => part + (index < values.length ? segment(values[index] ?? '') : '')).join('');
}

function segment(value: string): string {
  // URL parsers resolve these segments, also when they are percent-encoded.
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
    throw new TidemarkError('invalid_argument', `${JSON.stringify(value)} cannot be part of a URL`);
  }
  if (!value.isWellFormed()) {
    throw new TidemarkError('invalid_argument', `${JSON.stringify(value)} is not well-formed Unicode`);
  }
  return encodeURIComponent(value);
}
