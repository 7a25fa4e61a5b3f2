import { expect, it } from 'vitest';
import { justBefore } from './just-before.ts';

/** Compares names as the server sorts them: by their bytes. */
function isBefore(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0;
}

it('[CONSOLE-7] a search of users begins before all logins with the typed beginning, and after all that sort earlier', () => {
  for (const start of ['b', 'anna', '🌊', 'a🌊', '\ue000x', 'x\ue000', 'é']) {
    const after = justBefore(start) ?? '';
    expect({ start, isEarly: isBefore(after, start) }).toEqual({ start, isEarly: true });
    const last = [...start].at(-1)?.codePointAt(0) ?? 0;
    const earlier = `${start.slice(0, start.length - String.fromCodePoint(last).length)}${last === 0xe000 ? '\ud7ff' : String.fromCodePoint(last - 1)}zzz`;
    expect({ start, isLate: isBefore(earlier, after) }).toEqual({ start, isLate: true });
  }
  expect(justBefore('')).toBe(null);
  expect(justBefore('!')).toBe(null);
  expect(justBefore('a!')).toBe('a');
});
