import { describe, expect, it } from 'vitest';
import { failureOf, freeBytesAt } from './failure.ts';

const plenty = () => 10 ** 12;
const engineError = (message: string) => Object.assign(new Error(message), { code: 5 });

describe('failures of the engine', () => {
  it('[EMB-6] a failure is classified as a full disk, a failing disk or a bug', () => {
    for (const message of ['MDB_MAP_FULL: x', 'No space left on device', 'Disk quota exceeded', 'File too large']) {
      expect(failureOf(engineError(message), plenty)).toEqual({ kind: 'full', message });
    }
    const message = 'Input/output error';
    expect(failureOf(engineError(message), () => 1_000)).toEqual({ kind: 'full', message });
    expect(failureOf(engineError(message), plenty)).toEqual({ kind: 'engine', message });
    expect(failureOf(new Error('an id stands twice'), plenty)).toEqual({ kind: 'bug', message: 'an id stands twice' });
    expect(freeBytesAt(import.meta.filename)).toBeGreaterThan(0);
  });
});
