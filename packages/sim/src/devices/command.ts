import type { Command } from '../runner/command.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { deviceSimulation } from './run-history.ts';

const HISTORIES_DEFAULT = 20;
const STEPS_DEFAULT = 60;

export const httpCommand: Command = {
  name: 'http',
  summary: 'SDK devices and a real server over HTTP through a proxy with faults; both are killed.',
  options: [
    ...simulationOptions(HISTORIES_DEFAULT),
    { name: 'steps', value: 'N', help: `the most steps of a history (default ${STEPS_DEFAULT})` },
    { name: 'virtual', help: 'run in one process and in virtual time: faster, and exactly the same each time' },
  ],
  run: (options) => {
    const kind = options.has('virtual') ? 'virtual' : 'http';
    const simulation = deviceSimulation(kind, options.number('steps', 1) ?? STEPS_DEFAULT);
    return runSimulation(simulation, options, HISTORIES_DEFAULT);
  },
};
