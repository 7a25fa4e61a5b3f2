import { describe, expect, it } from 'vitest';
import { AttributeTexts } from './attribute-texts.ts';
import { changedRecord, newRecord, ObjectRecord, wholeMember } from './record.ts';
import { wholeMembers } from './whole-members.ts';

function stripped(records: readonly string[]): string {
  return new TextDecoder().decode(wholeMembers(new TextEncoder().encode(records.join(','))));
}

/** Objects of which some were changed after birth, and so have marks, with names that look like what marks end with. */
function recordsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => {
    const born = newRecord(
      `o${n}`,
      AttributeTexts.of([
        [']}\\],"', `"a\\n${n}"`],
        ['plain', '{"x":[1,"]"]}'],
      ]),
    ).record;
    if (n % 3 === 0) return born;
    const rest: [string, string][] = n % 2 === 0 ? [[']}\\],"', '"é"']] : [];
    const attributes = AttributeTexts.of([['plain', `${n}`], ...rest]);
    return changedRecord(new ObjectRecord(born, 5), attributes, 0).record;
  });
}

describe('joined records', () => {
  it('[JRN-8] joined records without marks equal the records without marks one by one', () => {
    for (const count of [0, 1, 2, 3, 4, 50]) {
      const records = recordsOf(count);
      expect(stripped(records)).toBe(records.map(wholeMember).join(','));
      expect(() => JSON.parse(`{${stripped(records)}}`)).not.toThrow();
    }
    expect(recordsOf(3).filter((record) => record.includes('\n'))).toHaveLength(2);
  });

  it('[JRN-8] joined records that have no marks are returned unchanged', () => {
    const joined = new TextEncoder().encode('"a":{},"b":{"text":"\\n"}');
    expect(wholeMembers(joined)).toBe(joined);
  });

  it('[JRN-8] joined records with unterminated marks are an error', () => {
    expect(() => stripped(['"a":{}\n[1,{'])).toThrow(/do not end/);
    expect(() => stripped(['"a":{}\n[1,{"x'])).toThrow(/does not end/);
  });
});
