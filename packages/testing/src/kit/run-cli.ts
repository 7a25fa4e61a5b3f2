import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { run } from '@tidemark/cli';

/** What a command line wrote, and its exit code. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  /** The working folder. */
  readonly folder: string;
  readonly input?: string;
}

/**
 * Runs a command line inside the process of the test. `main.ts` adds nothing to `run` but the streams of a process, and
 * starting a process costs more CPU than most commands, so tests start one only where the process itself matters.
 */
export async function runInProcess(
  args: readonly string[],
  { env, folder, input = '' }: Surroundings,
): Promise<Outcome> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const texts = Promise.all([text(stdout), text(stderr)]);
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)], { objectMode: false });
  const code = await run(args, { env, folder, stdin, stdout, stderr });
  stdout.end();
  stderr.end();
  const [out, err] = await texts;
  return { code, out, err };
}
