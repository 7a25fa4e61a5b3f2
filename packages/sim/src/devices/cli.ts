import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { drawHistory } from './draw-history.ts';
import { HttpStage } from './http-stage.ts';
import { DeviceSimulationFailure, runHistory } from './run-history.ts';
import type { MakeStage } from './stage.ts';
import { VirtualStage } from './virtual-stage.ts';

const HISTORIES_DEFAULT = 20;
const STEPS_DEFAULT = 60;
const SEEDS_BELOW = 2 ** 31;
const EXIT_USAGE = 64;

const USAGE = `usage: npm run sim:http -- [--histories N] [--seed S] [--steps N] [--virtual]

  --histories N  how many histories to try (default ${HISTORIES_DEFAULT}; with --seed alone: that one)
  --seed S       the first seed; the others follow it (default: any)
  --steps N      the most steps of a history (default ${STEPS_DEFAULT})
  --virtual      in one process and virtual time instead of over HTTP: faster, and exactly the same each time
`;

interface Options {
  readonly histories: number;
  readonly seed: number;
  readonly steps: number;
  readonly makeStage: MakeStage;
  readonly how: string;
}

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === null) {
    process.stderr.write(USAGE);
    return EXIT_USAGE;
  }
  const { histories, seed, steps, makeStage, how } = options;
  for (let index = 0; index < histories; index++) {
    try {
      await runHistory(drawHistory(seed + index, steps), makeStage);
      process.stderr.write(`seed ${seed + index} held (${index + 1} of ${histories})\n`);
    } catch (error) {
      if (!(error instanceof DeviceSimulationFailure)) throw error;
      process.stdout.write(
        `${error.message}\n\nreplay: npm run sim:http -- --seed ${error.seed} --steps ${steps}${how}\n`,
      );
      return 1;
    }
  }
  process.stdout.write(`${histories} histories from seed ${seed}: all held\n`);
  return 0;
}

function readOptions(args: readonly string[]): Options | null {
  const option = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { histories: option, seed: option, steps: option, virtual: { type: 'boolean' } },
    });
    return {
      histories: wholeNumber(values.histories) ?? (values.seed === undefined ? HISTORIES_DEFAULT : 1),
      seed: wholeNumber(values.seed) ?? randomInt(SEEDS_BELOW),
      steps: wholeNumber(values.steps) ?? STEPS_DEFAULT,
      makeStage: values.virtual === true ? VirtualStage.with() : HttpStage.with(),
      how: values.virtual === true ? ' --virtual' : '',
    };
  } catch {
    return null;
  }
}

function wholeNumber(text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`not a whole number from 1: ${text}`);
  return number;
}
