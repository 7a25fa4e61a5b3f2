import { scopeFrom, scopeParts } from '@tidemark/core/ports';
import { describe, expect, it } from 'vitest';
import { keyOf, type Scope, textsOf } from './keys.ts';
import { Layout, SCOPE_KEYS } from './layout.ts';

const NAMES = ['', 'a', 'b', 'a:b', ':', '{', '}', '{}', '{a}', '}{', '%7B', 'é', 'e\u0301', '\u{1f600}', 'state', ' '];
const layout = new Layout('tidemark:');

const scopes: readonly Scope[] = [
  { kind: 'server' },
  ...NAMES.map((source) => ({ kind: 'shared', source }) as const),
  ...NAMES.flatMap((source) => NAMES.map((user) => ({ kind: 'user', source, user }) as const)),
  ...NAMES.flatMap((source) => NAMES.map((client) => ({ kind: 'client', source, client }) as const)),
];

/** The hash tag, which decides the slot: the text between the first `{` and the next `}`. */
function tagOf(key: string): string {
  const start = key.indexOf('{');
  return key.slice(start + 1, key.indexOf('}', start));
}

function keysOf(scope: Scope): readonly string[] {
  const keys = layout.scope(scope);
  return [...keys.all(SCOPE_KEYS), ...NAMES.map(keys.parts), ...NAMES.map(keys.clientFence)];
}

describe('keys', () => {
  it('[VALKEY-15] the keys of a scope share a hash tag that no other scope has', () => {
    const tags = scopes.map((scope) => {
      const [tag = '', ...others] = new Set(keysOf(scope).map(tagOf));
      expect(others).toEqual([]);
      expect(tag).not.toBe('');
      return tag;
    });
    expect(new Set(tags).size).toBe(scopes.length);
    expect(tags).not.toContain(tagOf(layout.registryKey('meta')));
  });

  it('[VALKEY-15] different scopes have different keys', () => {
    const all = scopes.flatMap(keysOf);
    expect(new Set(all).size).toBe(all.length);
  });

  it('[VALKEY-15] a scope is found by its member and by its state key', () => {
    for (const scope of scopes) {
      expect(scopeFrom(textsOf(keyOf(...scopeParts(scope))))).toEqual(scope);
      expect(layout.scopeWithState(layout.scope(scope).one('state'))).toEqual(scope);
      expect(layout.scopeWithState(layout.scope(scope).one('fence'))).toBeNull();
    }
  });

  it('[VALKEY-15] a name with zero bytes or half a character cannot be part of a key', () => {
    for (const source of ['a\0b', '\0', '\ud800', 'a\udfff']) {
      expect(() => layout.scope({ kind: 'shared', source })).toThrow(/well-formed/);
      expect(() => keyOf('x', source)).toThrow(/well-formed/);
    }
  });
});
