import { describe, expect, it } from 'vitest';
import { RegisterHistory } from './register-history.ts';

type Operation = readonly [
  kind: 'write' | 'read' | 'lost' | 'refused',
  value: number | null,
  startMs: number,
  endMs: number,
];

function problemOf(...operations: readonly Operation[]): string | null {
  const history = new RegisterHistory(null);
  for (const [kind, value, startMs, endMs] of operations) {
    if (kind === 'read') history.reads.push({ value, startMs, endMs });
    else {
      const write = history.begin(value ?? 0, startMs);
      if (kind !== 'lost') write.endMs = endMs;
      write.isRefused = kind === 'refused';
    }
  }
  return history.problem();
}

describe('histories of one object', () => {
  it.each<[string, readonly Operation[]]>([
    [
      'a read after a write returns it',
      [
        ['write', 1, 0, 1],
        ['read', 1, 2, 3],
      ],
    ],
    [
      'a read during a write returns the value before',
      [
        ['write', 1, 0, 5],
        ['read', null, 1, 2],
        ['read', 1, 3, 4],
      ],
    ],
    [
      'a write without an answer takes effect late',
      [
        ['lost', 1, 0, 0],
        ['write', 2, 1, 2],
        ['read', 2, 3, 4],
        ['read', 1, 5, 6],
      ],
    ],
    [
      'a write without an answer never takes effect',
      [
        ['write', 1, 0, 1],
        ['lost', 2, 2, 2],
        ['read', 1, 3, 4],
      ],
    ],
    [
      'a refused write takes effect before its refusal',
      [
        ['refused', 1, 0, 2],
        ['read', 1, 3, 4],
        ['write', 2, 5, 6],
        ['read', 2, 7, 8],
      ],
    ],
    [
      'a refused write never takes effect',
      [
        ['write', 1, 0, 1],
        ['refused', 2, 2, 3],
        ['read', 1, 4, 5],
      ],
    ],
    [
      'two writes at once end in either order',
      [
        ['write', 1, 0, 5],
        ['write', 2, 1, 4],
        ['read', 1, 6, 7],
      ],
    ],
  ])('[CHAOS-2] a history is accepted in which %s', (_, operations) => {
    expect(problemOf(...operations)).toBeNull();
  });

  it.each<[string, readonly Operation[]]>([
    [
      'an acknowledged write is missing',
      [
        ['write', 1, 0, 1],
        ['read', null, 2, 3],
      ],
    ],
    [
      'an acknowledged write is taken back',
      [
        ['write', 1, 0, 1],
        ['write', 2, 2, 3],
        ['read', 1, 4, 5],
      ],
    ],
    [
      'a refused write takes effect after its refusal',
      [
        ['refused', 1, 0, 2],
        ['write', 2, 3, 4],
        ['read', 2, 5, 6],
        ['read', 1, 7, 8],
      ],
    ],
    [
      'a read goes back to an older value',
      [
        ['write', 1, 0, 1],
        ['write', 2, 2, 9],
        ['read', 2, 3, 4],
        ['read', 1, 5, 6],
      ],
    ],
    ['a value appears that nobody wrote', [['read', 7, 0, 1]]],
    [
      'a value appears before it was written',
      [
        ['read', 1, 0, 1],
        ['write', 1, 2, 3],
      ],
    ],
  ])('[CHAOS-2] a history is refused in which %s', (_, operations) => {
    expect(problemOf(...operations)).toEqual(expect.any(String));
  });

  it('[CHAOS-2] a value is older than another only if it was replaced before the other was written', () => {
    const history = new RegisterHistory(1);
    history.begin(2, 0).endMs = 5;
    history.begin(3, 4).endMs = 6;
    history.begin(4, 7).endMs = 8;
    expect([history.isOlder(1, 2), history.isOlder(2, 3), history.isOlder(2, 4), history.isOlder(4, 2)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});
