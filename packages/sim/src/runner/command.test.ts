import { describe, expect, it } from 'vitest';
import { type Command, helpOf, OptionValues, UsageError } from './command.ts';

const OPTIONS = [
  { name: 'rounds', value: 'N', help: 'how many rounds' },
  { name: 'store', value: 'S', help: 'embedded or valkey' },
  { name: 'keep', help: 'keep the seed' },
] as const;

function values(...args: readonly string[]): OptionValues {
  return new OptionValues(args, OPTIONS);
}

describe('the options of a sim command', () => {
  it('a sim command reads numbers, choices and switches', () => {
    const given = values('--rounds', '3', '--store', 'valkey', '--keep');
    expect([given.number('rounds', 1), given.choice('store', ['embedded', 'valkey']), given.has('keep')]).toEqual([
      3,
      'valkey',
      true,
    ]);
  });

  it('a missing option of a sim command is undefined, the first choice or false', () => {
    const none = values();
    expect([none.number('rounds'), none.choice('store', ['embedded', 'valkey']), none.has('keep')]).toEqual([
      undefined,
      'embedded',
      false,
    ]);
  });

  it.each<[what: string, read: () => unknown]>([
    ['an unknown option', () => values('--nope')],
    ['an argument without an option', () => values('nope')],
    ['a number below its minimum', () => values('--rounds', '0').number('rounds', 1)],
    ['a text instead of a number', () => values('--rounds', 'x').number('rounds')],
    ['an unknown choice', () => values('--store', 'x').choice('store', ['embedded', 'valkey'])],
  ])('a sim command refuses %s', (_, read) => {
    expect(read).toThrow(UsageError);
  });

  it('the help of a sim command lists its options', () => {
    const command: Command = { name: 'crash', summary: 'Kills.', options: OPTIONS, run: async () => 0 };
    expect(helpOf(command)).toBe(
      [
        'Kills.',
        '',
        'usage: npm run sim -- crash [--rounds N] [--store S] [--keep]',
        '',
        '  --rounds N  how many rounds',
        '  --store S   embedded or valkey',
        '  --keep      keep the seed',
        '',
      ].join('\n'),
    );
  });
});
