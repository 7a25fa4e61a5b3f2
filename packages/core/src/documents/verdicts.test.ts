import { describe, expect, it } from 'vitest';
import { AttributeTexts } from '../journal/attribute-texts.ts';
import { deleted, merged, replaced, updated } from './verdicts.ts';

const texts = (object: Record<string, unknown>) =>
  AttributeTexts.of(Object.entries(object).map(([name, value]) => [name, JSON.stringify(value)]));
const NONE = texts({});

describe('verdicts', () => {
  it('[WRITE-1] push_objects merges attributes and creates missing objects', () => {
    expect(merged(texts({ a: 1, b: 2 }), texts({ b: 3, c: null }))).toEqual(texts({ a: 1, b: 3, c: null }));
    expect(merged(null, texts({ a: 1 }))).toEqual(texts({ a: 1 }));
  });

  it('[WRITE-2] a write of the stored values is not a change', () => {
    expect(merged(texts({ a: 1, b: 2 }), texts({ b: 2 }))).toBeNull();
    expect(updated(texts({ a: 1 }), texts({ a: 1 }), texts({ a: 1 }))).toBeNull();
    expect(updated(texts({ a: 1 }), texts({ a: 2, x: 1 }), NONE)).toBeNull();
    expect(replaced(texts({ a: 1, b: 2 }), texts({ b: 2, a: 1 }))).toBeNull();
    expect(replaced(null, null)).toBeNull();
  });

  it('[WRITE-3] push_deletes of a missing object is not a change', () => {
    expect(deleted(texts({ a: 1 }))).toBe('gone');
    expect(deleted(null)).toBeNull();
  });

  it('[WRITE-5] fast_update removes attributes that still have the previous value, then sets the new ones', () => {
    expect(updated(texts({ a: 1, b: 2, c: 3 }), texts({ a: 1, b: 9 }), texts({ d: 4 }))).toEqual(
      texts({ b: 2, c: 3, d: 4 }),
    );
    expect(updated(null, texts({ a: 1 }), texts({ d: 4 }))).toEqual(texts({ d: 4 }));
  });

  it('[WRITE-6] an object that loses its last attribute is deleted', () => {
    expect(updated(texts({ a: 1 }), texts({ a: 1 }), NONE)).toBe('gone');
    expect(updated(texts({ a: 1, b: 1 }), texts({ a: 1 }), NONE)).toEqual(texts({ b: 1 }));
    expect(updated(null, texts({ a: 1 }), NONE)).toBeNull();
  });

  it('[WRITE-7] an object without attributes is not created', () => {
    expect(merged(null, NONE)).toBeNull();
    expect(merged(texts({ a: 1 }), NONE)).toBeNull();
    expect(replaced(texts({ a: 1 }), NONE)).toBe('gone');
    expect(replaced(null, NONE)).toBeNull();
  });

  it('[WRITE-8] a replacement makes the object equal to the given one', () => {
    expect(replaced(texts({ a: 1, b: 2 }), texts({ b: 2 }))).toEqual(texts({ b: 2 }));
    expect(replaced(null, texts({ b: 2 }))).toEqual(texts({ b: 2 }));
    expect(replaced(texts({ a: 1 }), null)).toBe('gone');
  });
});
