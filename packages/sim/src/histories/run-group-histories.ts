import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { openMemoryStore, seededRandom } from '@tidemark/testing/kit';
import type { Command } from '../runner/command.ts';
import { runGroupHistory } from './group-history.ts';

const HISTORIES_DEFAULT = 2_000;
const SEEDS_BELOW = 2 ** 31;

export const groupsCommand: Command = {
  name: 'groups',
  summary:
    'Random histories of grants, revokes, moves and lost answers: every device ends with the union of its groups.',
  options: [
    { name: 'histories', value: 'N', help: `how many histories to run (default ${HISTORIES_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the first seed; the others follow it (default: random)' },
  ],
  async run(options) {
    const histories = options.number('histories') ?? HISTORIES_DEFAULT;
    const first = options.number('seed') ?? randomInt(SEEDS_BELOW);
    for (let seed = first; seed < first + histories; seed++) {
      const devices = await runGroupHistory(openMemoryStore({ random: seededRandom(seed) }), seed);
      const wrong = devices.find(({ held, wanted }) => !isDeepStrictEqual(held, wanted));
      if (wrong === undefined) continue;
      const { user, held, wanted } = wrong;
      process.stdout.write(
        `seed ${seed}: ${user} holds ${JSON.stringify(held)} instead of ${JSON.stringify(wanted)}\n`,
      );
      return 1;
    }
    process.stdout.write(`groups: ${histories} histories from seed ${first}: all passed\n`);
    return 0;
  },
};
