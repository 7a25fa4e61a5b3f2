import type { Exchange, Expected, Sent } from './conformance-case.ts';

/** Encodes a name as one segment of a path. */
export function segment(name: string): string {
  return encodeURIComponent(name).replaceAll('*', '%2A');
}

/** Returns a path with encoded values: path`/rc/v1/users/${login}`. */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((whole, text, index) => whole + segment(values[index - 1] ?? '') + text);
}

export function get(to: string, headers: Readonly<Record<string, string>> = {}): Sent {
  return { method: 'GET', path: to, headers };
}

export function post(to: string, json: unknown, headers: Readonly<Record<string, string>> = {}): Sent {
  return { method: 'POST', path: to, json, headers };
}

export function put(to: string, json: unknown): Sent {
  return { method: 'PUT', path: to, json };
}

export function del(to: string): Sent {
  return { method: 'DELETE', path: to };
}

/** Returns the same request without the administrator's token. */
export function withoutToken(sent: Sent): Sent {
  return { ...sent, token: 'none' };
}

export const AS_JSON = { accept: 'application/json' } as const;
export const AS_TEXT = { accept: 'text/plain' } as const;

export function json(body: unknown): Expected {
  return { kind: 'json', body };
}

export function text(body: unknown): Expected {
  return { kind: 'text', body };
}

export function file(): Expected {
  return { kind: 'file' };
}

export function lines(...expected: readonly unknown[]): Expected {
  return { kind: 'lines', lines: expected };
}

export function events(text: unknown): Expected {
  return { kind: 'events', text };
}

export function refused(
  code: Extract<Expected, { kind: 'refused' }>['code'],
  ...pointers: readonly string[]
): Expected {
  return { kind: 'refused', code, ...(pointers.length === 0 ? {} : { pointers }) };
}

/** Returns several requests that must all get the same answer. */
export function each(expected: Expected, ...requests: readonly Sent[]): readonly Exchange[] {
  return requests.map((sent) => [sent, expected] as const);
}
