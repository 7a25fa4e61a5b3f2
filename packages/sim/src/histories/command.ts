import type { Command } from '../runner/command.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { ENGINES } from './engines.ts';
import { syncSimulation } from './simulate.ts';

const HISTORIES_DEFAULT = 2_000;

export const historiesCommand: Command = {
  name: 'histories',
  summary: 'Random histories of writes, trims, resets and devices with a bad network, compared with an oracle.',
  options: [
    ...simulationOptions(HISTORIES_DEFAULT),
    { name: 'engine', value: 'E', help: `${ENGINES.join(', ')} (default ${ENGINES[0]})` },
  ],
  run: (options) => runSimulation(syncSimulation(options.choice('engine', ENGINES)), options, HISTORIES_DEFAULT),
};
