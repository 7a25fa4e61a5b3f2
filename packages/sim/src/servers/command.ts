import { temporaryFolder } from '@tidemark/testing/kit';
import { type Command, UsageError } from '../runner/command.ts';
import { type RoundReport, runServers } from './run-servers.ts';

const ROUNDS_DEFAULT = 50;
const SERVERS_DEFAULT = 2;
const SERVERS_MAX = 16;

export const serversCommand: Command = {
  name: 'servers',
  summary: 'Several servers on one store under load, killed and restarted.',
  options: [
    { name: 'rounds', value: 'N', help: `how many servers to kill (default ${ROUNDS_DEFAULT})` },
    { name: 'servers', value: 'N', help: `how many servers, 2 to ${SERVERS_MAX} (default ${SERVERS_DEFAULT})` },
    { name: 'store', value: 'S', help: 'embedded (default) or valkey' },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
  ],
  run: async (options) => {
    const rounds = options.number('rounds', 1) ?? ROUNDS_DEFAULT;
    const servers = options.number('servers', 2) ?? SERVERS_DEFAULT;
    const store = options.choice('store', ['embedded', 'valkey']);
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    if (servers > SERVERS_MAX) throw new UsageError(`--servers: expected at most ${SERVERS_MAX}, got ${servers}`);
    process.stderr.write(`seed ${seed}: ${rounds} rounds, ${servers} servers on one ${store} store\n`);
    const folder = await temporaryFolder();
    try {
      const report = await runServers({ rounds, servers, store, seed, folder: folder.path, onRound: print });
      const { kills, writes, queries, problems } = report;
      process.stdout.write(`${kills} kills, ${writes} writes, ${queries} queries, ${problems.length} problems\n`);
      for (const problem of problems) process.stdout.write(`${problem}\n`);
      return problems.length === 0 ? 0 : 1;
    } finally {
      await folder.remove();
    }
  },
};

function print({ round, writes, failedAttempts, convergedMs }: RoundReport): void {
  const load = `${writes} writes acknowledged, ${failedAttempts} attempts failed`;
  process.stderr.write(`round ${round}: ${load}, devices converged after ${Math.round(convergedMs)} ms\n`);
}
