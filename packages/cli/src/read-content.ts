import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorMessage, parseJson } from '@tidemark/protocol';
import type { Cli } from './cli.ts';
import { usageFailure } from './cli-failure.ts';

const STDIN = '-';

/** Reads a file, or the standard input when the name is `-` or missing. */
export async function readContent({ terminal, folder }: Cli, file: string | undefined): Promise<string> {
  if (file === undefined || file === STDIN) {
    if (terminal.isStdinTerminal && file === undefined) {
      throw usageFailure('there is no input', 'name a file, or send the content to the standard input');
    }
    return terminal.readInput();
  }
  try {
    return readFileSync(resolve(folder, file), 'utf8');
  } catch (error) {
    throw usageFailure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

/** Reads text and checks that it is JSON. The text is not changed, so numbers keep all digits. */
export async function readJsonText(cli: Cli, file: string | undefined): Promise<string> {
  const text = await readContent(cli, file);
  try {
    parseJson(text);
    return text.replace(/^\uFEFF/, '').trim();
  } catch (error) {
    const what = file === undefined || file === STDIN ? 'the standard input' : file;
    throw usageFailure(`${what} is not JSON: ${errorMessage(error)}`);
  }
}
