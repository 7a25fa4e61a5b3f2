import type { Command } from '../runner/command.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { uploadSimulation } from './simulate.ts';

const HISTORIES_DEFAULT = 2_000;

export const uploadsCommand: Command = {
  name: 'uploads',
  summary: 'Random histories of uploads to a backend that fails, with jobs, crashes and users who are replaced.',
  options: simulationOptions(HISTORIES_DEFAULT),
  run: (options) => runSimulation(uploadSimulation, options, HISTORIES_DEFAULT),
};
