import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../runner/command.ts';
import { runPhotos } from './photo-run.ts';

const FILES_DEFAULT = 200;
const SIZE_DEFAULT = 3_000_000;
const CUT_DEFAULT = 2_000_000;
const KILL_EVERY_S_DEFAULT = 20;
/** More than that is sent in vain, or twice. */
const FACTOR_MAX = 1.1;

export const photosCommand: Command = {
  name: 'photos',
  summary:
    'Photos from a browser that is killed, over connections that are cut; fails when one does not arrive, or too much is sent.',
  options: [
    { name: 'files', value: 'N', help: `photos to take (default ${FILES_DEFAULT})` },
    { name: 'size', value: 'B', help: `bytes of each (default ${SIZE_DEFAULT})` },
    { name: 'cut', value: 'B', help: `bytes after which a connection is cut at the latest (default ${CUT_DEFAULT})` },
    { name: 'kill', value: 'S', help: `seconds after which the browser is killed (default ${KILL_EVERY_S_DEFAULT})` },
  ],
  run: async (options) => {
    const killEveryS = options.number('kill', 1) ?? KILL_EVERY_S_DEFAULT;
    const { kills, cuts, factor, wrong } = await runPhotos({
      files: options.number('files', 1) ?? FILES_DEFAULT,
      size: options.number('size', 1) ?? SIZE_DEFAULT,
      cutAfterBytes: options.number('cut', 1) ?? CUT_DEFAULT,
      untilKill: () => sleep(killEveryS * 1_000),
      onRound: (line) => process.stderr.write(`${line}\n`),
    });
    process.stdout.write(`${kills} kills, ${cuts} connections cut, ${factor.toFixed(3)} times the bytes were sent\n`);
    for (const number of wrong) process.stdout.write(`photo ${number} has not arrived, or with other bytes\n`);
    return wrong.length === 0 && factor <= FACTOR_MAX ? 0 : 1;
  },
};
