import { describe, expect, it } from 'vitest';
import type { Entry } from '../ports/store.ts';
import { ParsedEntryCache } from './parsed-entry-cache.ts';

const entry = (version: number): Entry => ({ key: ['x'], value: `v${version}`, version });

describe('reading an entry once', () => {
  it('[REG-1] a cached entry is parsed again only after it has changed', () => {
    let makings = 0;
    const readOnce = new ParsedEntryCache((name, { value }) => ({ text: `${name} ${value}`, making: ++makings }));
    expect(readOnce.of('a', entry(1))).toEqual({ text: 'a v1', making: 1 });
    expect(readOnce.of('a', entry(1))).toEqual({ text: 'a v1', making: 1 });
    expect(readOnce.of('b', entry(1))).toEqual({ text: 'b v1', making: 2 });
    expect(readOnce.of('a', entry(2))).toEqual({ text: 'a v2', making: 3 });
    expect(readOnce.of('a', entry(1))).toEqual({ text: 'a v1', making: 4 });
  });

  it('[REG-1] the oldest entries are evicted, so that the cache stays bounded', () => {
    let makings = 0;
    const readOnce = new ParsedEntryCache(() => ++makings);
    for (let name = 0; name <= 1_000; name++) readOnce.of(String(name), entry(1));
    expect(readOnce.of('1000', entry(1))).toBe(1_001);
    expect(readOnce.of('0', entry(1))).toBe(1_002);
  });
});
