import { describe, expect, it } from 'vitest';
import { keyOf, type Place, placeFrom, placeParts, textsOf } from './keys.ts';
import { Layout, PLACE_KEYS } from './layout.ts';

const NAMES = ['', 'a', 'b', 'a:b', ':', '{', '}', '{}', '{a}', '}{', '%7B', 'é', 'e\u0301', '\u{1f600}', 'state', ' '];
const layout = new Layout('tidemark:');

const places: readonly Place[] = [
  { kind: 'server' },
  ...NAMES.map((source) => ({ kind: 'shared', source }) as const),
  ...NAMES.flatMap((source) => NAMES.map((user) => ({ kind: 'user', source, user }) as const)),
  ...NAMES.flatMap((source) => NAMES.map((client) => ({ kind: 'client', source, client }) as const)),
];

/** What decides over the slot: what stands between the first `{` and the next `}`. */
function tagOf(key: string): string {
  const start = key.indexOf('{');
  return key.slice(start + 1, key.indexOf('}', start));
}

describe('keys', () => {
  it('[VALKEY-15] of a place share a tag of its own', () => {
    const tags = places.map((place) => {
      const keys = layout.place(place);
      const all = [...keys.some(PLACE_KEYS), ...NAMES.map(keys.partsOf), ...NAMES.map(keys.clientFence)];
      const [tag = '', ...others] = new Set(all.map(tagOf));
      expect(others).toEqual([]);
      expect(tag).not.toBe('');
      return tag;
    });
    expect(new Set(tags).size).toBe(places.length);
    expect(tags).not.toContain(tagOf(layout.registryKey('facts')));
  });

  it('[VALKEY-15] never meet', () => {
    const all = places.flatMap((place) => {
      const keys = layout.place(place);
      return [...keys.some(PLACE_KEYS), ...NAMES.map(keys.partsOf), ...NAMES.map(keys.clientFence)];
    });
    expect(new Set(all).size).toBe(all.length);
  });

  it('[VALKEY-15] are found again from their members', () => {
    for (const place of places) expect(placeFrom(textsOf(keyOf(...placeParts(place))))).toEqual(place);
  });

  it('[VALKEY-15] with zero bytes or half a character are thrown out', () => {
    for (const source of ['a\0b', '\0', '\ud800', 'a\udfff']) {
      expect(() => layout.place({ kind: 'shared', source })).toThrow(/well-formed/);
      expect(() => keyOf('x', source)).toThrow(/well-formed/);
    }
  });
});
