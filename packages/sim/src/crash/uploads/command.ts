import { temporaryFolder } from '@tidemark/testing/kit';
import type { Command } from '../../runner/command.ts';
import { runUploadsCrashes } from './run-uploads-crashes.ts';

const KILLS_DEFAULT = 50;
const UPLOADS_DEFAULT = 1_000;

export const crashUploadsCommand: Command = {
  name: 'crash:uploads',
  summary: 'SIGKILL at random moments of a worker that carries uploads to a backend.',
  options: [
    { name: 'kills', value: 'N', help: `how often the worker is killed (default ${KILLS_DEFAULT})` },
    { name: 'uploads', value: 'N', help: `how many uploads there are (default ${UPLOADS_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the seed of the run (default 1)' },
  ],
  run: async (options) => {
    const kills = options.number('kills', 1) ?? KILLS_DEFAULT;
    const uploads = options.number('uploads', 1) ?? UPLOADS_DEFAULT;
    const seed = options.number('seed') ?? 1;
    const folder = await temporaryFolder();
    const report = await runUploadsCrashes({ kills, uploads, seed, folder: folder.path });
    await folder.remove();
    process.stdout.write(`${report.kills} kills, ${uploads} uploads, ${report.calls} calls to the backend\n`);
    for (const problem of report.problems) process.stdout.write(`${problem}\n`);
    return report.problems.length === 0 ? 0 : 1;
  },
};
