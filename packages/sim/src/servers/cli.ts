import { parseArgs } from 'node:util';
import { temporaryFolder } from '@tidemark/testing/kit';
import { type RoundOfServers, runServers, type ServersOptions } from './run-servers.ts';

const USAGE = 'usage: npm run servers -- [--rounds N] [--servers 2|4] [--store embedded|valkey] [--seed S]\n';
const ROUNDS_DEFAULT = 50;
const SERVERS_MAX = 16;
const EXIT_USAGE = 64;

type Given = Pick<ServersOptions, 'rounds' | 'servers' | 'store' | 'seed'>;

function readArguments(): Given | null {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({ options: { rounds: text, servers: text, store: text, seed: text } });
    const { store = 'embedded' } = values;
    const rounds = Number(values.rounds ?? ROUNDS_DEFAULT);
    const servers = Number(values.servers ?? 2);
    const seed = Number(values.seed ?? Date.now() % 1_000_000);
    if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) return null;
    if (!Number.isInteger(servers) || servers < 2 || servers > SERVERS_MAX) return null;
    return store === 'embedded' || store === 'valkey' ? { rounds, servers, store, seed } : null;
  } catch {
    return null;
  }
}

function tell({ round, writes, unanswered, convergedMs }: RoundOfServers): void {
  const load = `${writes} writes acknowledged, ${unanswered} attempts without an answer`;
  process.stderr.write(`round ${round}: ${load}, devices converged after ${Math.round(convergedMs)} ms\n`);
}

/** The exit code. */
async function main(): Promise<number> {
  const given = readArguments();
  if (given === null) {
    process.stderr.write(USAGE);
    return EXIT_USAGE;
  }
  const { rounds, servers, store, seed } = given;
  process.stderr.write(`seed ${seed}: ${rounds} rounds, ${servers} servers on one ${store} store\n`);
  const folder = await temporaryFolder();
  try {
    const { kills, writes, queries, problems } = await runServers({ ...given, folder: folder.path, onRound: tell });
    process.stderr.write(
      `${kills} servers killed, ${writes} writes, ${queries} queries, ${problems.length} problems\n`,
    );
    for (const problem of problems) process.stderr.write(`${problem}\n`);
    return problems.length === 0 ? 0 : 1;
  } finally {
    await folder.remove();
  }
}

process.exitCode = await main();
