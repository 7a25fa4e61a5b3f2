import { CHAOS_ENGINES } from '../chaos/cluster.ts';
import { PLANT_OPTION, plantOf, runAndPrint } from '../chaos/run-chaos.ts';
import { type Command, UsageError } from '../runner/command.ts';

const ROUNDS_DEFAULT = 5;
const SERVERS_DEFAULT = 2;
const SERVERS_MAX = 16;

/** What happens to servers and their store, of what the store can have. */
const FAULTS_DEFAULT = ['kill_server', 'stall_store', 'fail_over', 'reshard'];

/** A chaos run with more servers, in which nothing else fails, so that more can be checked. */
export const serversCommand: Command = {
  name: 'servers',
  summary:
    'Several servers on one store under load, killed and restarted, while the store fails over or its slots move.',
  options: [
    { name: 'rounds', value: 'N', help: `how many rounds of faults (default ${ROUNDS_DEFAULT})` },
    { name: 'servers', value: 'N', help: `how many servers, 2 to ${SERVERS_MAX} (default ${SERVERS_DEFAULT})` },
    { name: 'store', value: 'S', help: `${CHAOS_ENGINES.join(', ')} (default ${CHAOS_ENGINES[0]})` },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
    { name: 'faults', value: 'F,F', help: `only these faults (default: ${FAULTS_DEFAULT.join(',')})` },
    PLANT_OPTION,
  ],
  run: async (options) => {
    const rounds = options.number('rounds', 1) ?? ROUNDS_DEFAULT;
    const servers = options.number('servers', 2) ?? SERVERS_DEFAULT;
    const engine = options.choice('store', CHAOS_ENGINES);
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    const faults = options.text('faults')?.split(',') ?? FAULTS_DEFAULT;
    if (servers > SERVERS_MAX) throw new UsageError(`--servers: expected at most ${SERVERS_MAX}, got ${servers}`);
    const run = { seed, engine, servers, faults, plant: plantOf(options), isCalm: true };
    return runAndPrint(run, `${rounds} rounds`, (done) => done >= rounds);
  },
};
