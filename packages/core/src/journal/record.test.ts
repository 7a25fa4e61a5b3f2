import { GONE_MARKS_MAX, objectChecksum } from '@tidemark/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AttributeTexts } from './attribute-texts.ts';
import { changedAt, changedRecord, deltaSince, inspectRecord, newRecord, ObjectRecord, wholeMember } from './record.ts';

const texts = (object: Record<string, unknown>) =>
  AttributeTexts.of(Object.entries(object).map(([name, value]) => [name, JSON.stringify(value)]));

/** The record after a chain of states, each committed at the given seq. */
function recordAfter(
  id: string,
  ...states: readonly (readonly [seq: number, object: Record<string, unknown>])[]
): string {
  let record: string | null = null;
  let at = 0;
  for (const [seq, object] of states) {
    const next: { record: string } =
      record === null ? newRecord(id, texts(object)) : changedRecord(new ObjectRecord(record, at), texts(object), 0);
    record = next.record;
    at = seq;
  }
  if (record === null) throw new Error('no states');
  return record;
}

describe('records', () => {
  it('[JRN-2] the record of a new object is only its JSON members', () => {
    const { record, checksum } = newRecord('a"b', texts({ n: 1, s: 'x\ny' }));
    expect(record).toBe('"a\\"b":{"n":1,"s":"x\\ny"}');
    expect(checksum).toBe(objectChecksum('a"b', texts({ n: 1, s: 'x\ny' })));
    const { id, attributes, marks } = new ObjectRecord(record, 7);
    expect({ id, attributes, marks }).toEqual({
      id: 'a"b',
      attributes: texts({ n: 1, s: 'x\ny' }),
      marks: { born: 7, touched: new Map(), gone: new Map() },
    });
  });

  it('[JRN-3] the record of a changed object has the seq of its creation, and of each changed and removed attribute', () => {
    const record = recordAfter('1', [5, { a: 1, b: 1, c: 1 }], [8, { a: 2, b: 1, c: 1 }], [9, { a: 2, c: 3, d: 4 }]);
    expect(new ObjectRecord(record, 9).marks).toEqual({
      born: 5,
      touched: new Map([
        ['a', 8],
        ['c', 9],
        ['d', 9],
      ]),
      gone: new Map([['b', 9]]),
    });
  });

  it('[JRN-4] a record gives the attributes that changed after any base', () => {
    const record = recordAfter('1', [5, { a: 1, b: 1, c: 1 }], [8, { a: 2, b: 1, c: 1 }], [9, { a: 2, c: 3 }]);
    const whole = { kind: 'whole', member: '"1":{"a":2,"c":3}' };
    expect(deltaSince(record, null)).toEqual(whole);
    expect(deltaSince(record, 4)).toEqual(whole);
    expect(deltaSince(record, 5)).toEqual({ kind: 'parts', patch: '"1":{"c":3,"a":2}', drop: '"1":["b"]' });
    expect(deltaSince(record, 8)).toEqual({ kind: 'parts', patch: '"1":{"c":3}', drop: '"1":["b"]' });
    expect(wholeMember(record)).toBe('"1":{"a":2,"c":3}');
    expect(wholeMember(newRecord('1', texts({ a: [] })).record)).toBe('"1":{"a":[]}');
  });

  it('[JRN-4] a patch holds exactly the attributes with a newer seq, whatever names and values look like', () => {
    // Texts of these characters look like names, ends of strings and nested objects.
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', ',', ':', '{', '}', '\\', '1'), maxLength: 8 });
    const name = fc.oneof(fc.constantFrom('a', 'b', '1', 'x"a', 'a,', ',a', ':1,'), text);
    const scalar = fc.oneof(text, fc.constantFrom(1, null, '","a":1', ',"a":', '{"a":'));
    const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(name, scalar, { maxKeys: 2 }));
    const others = fc.dictionary(name, value, { maxKeys: 10 });
    fc.assert(
      fc.property(others, fc.subarray(['a', 'b', '1', 'x"a', ':1,'], { minLength: 1 }), (object, changing) => {
        const at = (seq: number) => Object.fromEntries(changing.map((key) => [key, seq]));
        const first = { ...object, ...at(1) };
        const record = recordAfter('a', [1, first], [2, { ...first, ...at(2) }]);
        const delta = deltaSince(record, 1);
        if (delta.kind === 'whole' || delta.patch === null) throw new Error('the record holds no patch');
        expect(new Map(new ObjectRecord(delta.patch, 1).attributes)).toEqual(new Map(texts(at(2))));
      }),
      { numRuns: 3_000 },
    );
  });

  it('[JRN-4] a device with any earlier state gets the latest state from the difference, after any number of changes', () => {
    const state = fc.dictionary(fc.constantFrom('a', 'b', '1', '2', 'x y'), fc.integer({ min: 0, max: 2 }));
    fc.assert(
      fc.property(fc.array(state, { minLength: 2, maxLength: 8 }), (states) => {
        const record = recordAfter('1', ...states.map((object, at) => [at + 1, object] as const));
        for (const [at, held] of states.slice(0, -1).entries()) {
          const delta = deltaSince(record, at + 1);
          if (delta.kind === 'whole') throw new Error('the object was there before the base');
          const { 1: patch } = JSON.parse(`{${delta.patch ?? '"1":{}'}}`) as Record<string, object>;
          const { 1: drop } = JSON.parse(`{${delta.drop ?? '"1":[]'}}`) as Record<string, string[]>;
          const dropped = Object.entries(held).filter(([name]) => !drop?.includes(name));
          expect({ ...Object.fromEntries(dropped), ...patch }).toEqual(states.at(-1));
        }
      }),
    );
  });

  it('[JRN-4] a record that an earlier version wrote gives the same, and its marks are put in order', () => {
    const record = '"1":{"a":2,"c":3}\n[5,{"a":8,"c":0},{"b":0}]';
    expect(deltaSince(record, 5)).toEqual({ kind: 'parts', patch: '"1":{"c":3,"a":2}', drop: '"1":["b"]' });
    expect(deltaSince(record, 8)).toEqual({ kind: 'parts', patch: '"1":{"c":3}', drop: '"1":["b"]' });
    expect(deltaSince(record, 4).kind).toBe('whole');
    const next = changedRecord(new ObjectRecord(record, 9), texts({ a: 2, c: 3, d: 4 }), 0).record;
    expect(next).toBe('"1":{"a":2,"c":3,"d":4}\n[5,["b",9],["d",0,"c",9,"a",8]]');
    expect(deltaSince(next, 9)).toEqual({ kind: 'parts', patch: '"1":{"d":4}', drop: null });
  });

  it('[JRN-4] a change that only removes attributes has no patch', () => {
    const record = recordAfter('1', [1, { a: 1, b: 1 }], [2, { a: 1 }]);
    expect(deltaSince(record, 1)).toEqual({ kind: 'parts', patch: null, drop: '"1":["b"]' });
  });

  it('[JRN-5] an attribute that was removed and set again is reported as set', () => {
    const record = recordAfter('1', [1, { a: 1, b: 1 }], [2, { a: 1 }], [3, { a: 1, b: 2 }]);
    expect(deltaSince(record, 1)).toEqual({ kind: 'parts', patch: '"1":{"b":2}', drop: null });
    expect(deltaSince(record, 2)).toEqual({ kind: 'parts', patch: '"1":{"b":2}', drop: null });
  });

  it('[JRN-6] marks at or below the floor are dropped', () => {
    const old = new ObjectRecord(
      recordAfter('1', [1, { a: 1, b: 1, c: 1 }], [4, { a: 2, b: 1, c: 1 }], [5, { a: 2, c: 1 }]),
      5,
    );
    const { record } = changedRecord(old, texts({ a: 2, c: 9 }), 5);
    expect(new ObjectRecord(record, 6).marks).toEqual({ born: 1, touched: new Map([['c', 6]]), gone: new Map() });
    const kept = changedRecord(old, texts({ a: 2, c: 9 }), 4).record;
    expect(new ObjectRecord(kept, 6).marks.gone).toEqual(new Map([['b', 5]]));
  });

  it('[VERSION-42] what a conversion took away is as old as before for as long as its mark says that it is gone', () => {
    const marksAfter = (floor: number) => {
      const first = newRecord('1', texts({ title: 'a', n: 1 })).record;
      const seqs = new Map([
        ['name', 5],
        ['title', 5],
      ]);
      const converted = changedRecord(new ObjectRecord(first, 5), texts({ name: 'a', n: 1 }), 0, seqs).record;
      const { record } = changedRecord(new ObjectRecord(converted, 7), texts({ name: 'a', n: 2 }), floor);
      return new ObjectRecord(record, 9).marks;
    };
    expect(changedAt('title', marksAfter(6))).toBe(5);
    expect(changedAt('name', marksAfter(6))).toBe(5);
    expect(marksAfter(7)).toMatchObject({ gone: new Map(), carried: new Map([['name', 5]]) });
  });

  it('[JRN-7] an object that lost more than GONE_MARKS_MAX attributes is sent whole', () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, index]));
    const before = new ObjectRecord(newRecord('1', texts({ ...many(GONE_MARKS_MAX + 1), z: 1 })).record, 3);
    const atMax = changedRecord(before, texts({ [`a${GONE_MARKS_MAX}`]: GONE_MARKS_MAX, z: 1 }), 0).record;
    expect(new ObjectRecord(atMax, 4).marks.gone.size).toBe(GONE_MARKS_MAX);
    const beyond = changedRecord(before, texts({ z: 1 }), 0).record;
    expect(new ObjectRecord(beyond, 4).marks).toEqual({ born: 4, touched: new Map(), gone: new Map() });
  });

  it('[JRN-2] inspecting a record returns its parts, and detects damage', () => {
    const { record, checksum } = newRecord('1', texts({ a: 1 }));
    expect(inspectRecord(record)).toEqual({ id: '1', checksum });
    for (const damaged of ['', '"1"', '"1":{', '"1":{"a":1', `${record}x`, `${record}\n[1`]) {
      expect(() => inspectRecord(damaged)).toThrow();
    }
  });
});
