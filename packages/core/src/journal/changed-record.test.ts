import { GONE_MARKS_MAX, objectChecksum } from '@tidemark/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { merged, mergedAndRemoved, replaced, updated } from '../documents/verdicts.ts';
import { AttributeTexts } from './attribute-texts.ts';
import { changedRecord, newRecord, ObjectRecord } from './record.ts';

type Texts = ReadonlyMap<string, string>;

/** An object with its marks, kept in plain maps: what records mean, without their text. */
interface Model {
  readonly attributes: Texts;
  readonly born: number;
  readonly touched: ReadonlyMap<string, number>;
  readonly gone: ReadonlyMap<string, number>;
}

/** The object after it has become `next` at `seq`. */
function modelAfter(model: Model | null, next: Texts, seq: number, floor: number): Model {
  const created = { attributes: next, born: seq, touched: new Map(), gone: new Map() };
  if (model === null) return created;
  const touched = new Map([...model.touched].filter(([name, at]) => at > floor && next.has(name)));
  const gone = new Map([...model.gone].filter(([name, at]) => at > floor && !next.has(name)));
  for (const [name, text] of next) if (model.attributes.get(name) !== text) touched.set(name, seq);
  for (const name of model.attributes.keys()) if (!next.has(name)) gone.set(name, seq);
  return gone.size > GONE_MARKS_MAX ? created : { attributes: next, born: model.born, touched, gone };
}

type Edit = (typeof EDITS)[number];
const EDITS = ['push', 'update', 'upload', 'replace'] as const;

interface Step {
  readonly edit: Edit;
  readonly set: Texts;
  readonly removed: Texts;
}

/** What the step makes of the attributes, in plain maps. */
function modelEdit({ edit, set, removed }: Step, current: Texts): Texts {
  if (edit === 'replace') return set;
  if (edit === 'push') return new Map([...current, ...set]);
  const isRemoved = (name: string, text: string) =>
    removed.has(name) && (edit === 'upload' || removed.get(name) === text);
  if (edit === 'update') return new Map([...[...current].filter(([name, text]) => !isRemoved(name, text)), ...set]);
  return new Map([...current, ...set].filter(([name, text]) => !(current.has(name) && isRemoved(name, text))));
}

function edited({ edit, set, removed }: Step, current: AttributeTexts) {
  const given = AttributeTexts.of(set);
  if (edit === 'replace') return replaced(current, given);
  if (edit === 'push') return merged(current, given);
  if (edit === 'update') return updated(current, AttributeTexts.of(removed), given);
  return mergedAndRemoved(current, given, [...removed.keys()]);
}

const isSame = (left: Texts, right: Texts) =>
  left.size === right.size && [...left].every(([name, text]) => right.get(name) === text);

describe('changedRecord', () => {
  // More names than are searched one by one, and names that JSON escapes.
  const name = fc.constantFrom('a', '1', 'x"y', 'é\n', ...Array.from({ length: 20 }, (_, index) => `n${index}`));
  const text = fc.constantFrom('1', '"{"', '[{"a":2}]', '"é"', '"\\""');
  const texts = fc.array(fc.tuple(name, text), { maxLength: 24 }).map((list) => new Map(list));
  const step = fc.record({ edit: fc.constantFrom(...EDITS), set: texts, removed: texts, floor: fc.nat(6) });

  it('[JRN-3] records after any edits hold the attributes and marks that plain maps hold', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        let model: Model | null = null;
        let record = '';
        let seq = 0;
        for (const { floor, ...one } of steps) {
          const current: Texts = model?.attributes ?? new Map();
          const before = model === null ? null : new ObjectRecord(record, seq);
          const next = before === null ? AttributeTexts.of(one.set) : edited(one, before.attributes);
          const expected = before === null ? one.set : modelEdit(one, current);
          if (expected.size === 0) {
            expect(next === 'gone' || (before === null && next?.isEmpty)).toBe(true);
            model = null;
            continue;
          }
          if (next === null || next === 'gone') {
            expect([next, isSame(expected, current)]).toEqual([null, true]);
            continue;
          }
          const made = before === null ? newRecord('i"d', next) : changedRecord(before, next, floor);
          model = modelAfter(model, expected, ++seq, floor);
          record = made.record;
          const { attributes, ...marks } = model;
          const read = new ObjectRecord(record, seq);
          expect({ id: read.id, attributes: [...read.attributes], marks: read.marks }).toEqual({
            id: 'i"d',
            attributes: [...attributes],
            marks,
          });
          const seqs = [...read.marks.touched.values()];
          expect(seqs).toEqual(seqs.toSorted((left, right) => right - left));
          expect(made.checksum).toBe(objectChecksum('i"d', attributes));
        }
      }),
      { numRuns: 500 },
    );
  });
});
