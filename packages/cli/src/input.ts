import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorMessage, type JsonValue, parseJson } from '@tidemark/protocol';
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

export interface PasswordRequest {
  readonly question: string;
  /** `--password-stdin` was given. */
  readonly isFromInput: boolean;
  /** True: the user types the password twice, because it is not shown. */
  readonly isNew: boolean;
}

/**
 * A new password has its own variable, so that the login password of the environment is not given to a new user by
 * accident.
 */
const VARIABLES = { known: 'TIDEMARK_PASSWORD', new: 'TIDEMARK_NEW_PASSWORD' } as const;

/** Reads a password from the standard input, the environment or a prompt without echo, never from a flag. */
export async function readPassword({ terminal, env }: Cli, request: PasswordRequest): Promise<string> {
  const variable = request.isNew ? VARIABLES.new : VARIABLES.known;
  const given = request.isFromInput ? (await terminal.readInput()).replace(/\r?\n$/, '') : env[variable];
  if (given) return given;
  if (request.isFromInput) throw usageFailure('the standard input holds no password');
  if (!terminal.isInteractive) {
    throw usageFailure('there is nobody to ask for the password', `use --password-stdin or set ${variable}`);
  }
  const password = await terminal.askSecret(request.question);
  if (password === '') throw usageFailure('the password is empty');
  if (request.isNew && (await terminal.askSecret('Once more: ')) !== password) {
    throw usageFailure('the two passwords differ; nothing was done');
  }
  return password;
}

/** Parses an attribute of the command line: `name=value`. */
export function attributeOf(text: string): readonly [string, JsonValue] {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw usageFailure(`the attribute ${JSON.stringify(text)} is not of the form name=value`);
  }
  return [name, scalarOf(value)];
}

/** Parses a JSON scalar. Anything else is text, also a number that a double cannot hold. */
function scalarOf(text: string): JsonValue {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}

export interface DangerousAction {
  /** A sentence that says what will happen. */
  readonly warning: string;
  /** The name that the user must type. */
  readonly name: string;
  /** True for `--yes`: scripts are not asked. */
  readonly isConfirmed: boolean;
}

/** Asks the user to type the name of what will be deleted, so that nothing irreversible happens by mistake. */
export async function confirm({ terminal }: Cli, { warning, name, isConfirmed }: DangerousAction): Promise<void> {
  if (isConfirmed) return;
  if (!terminal.isInteractive) throw usageFailure(warning, 'confirm with --yes where nobody can be asked');
  terminal.say(warning);
  const answer = await terminal.ask(`Type ${name} to go on: `);
  if (answer.trim() !== name) throw usageFailure('the answer does not match; nothing was done');
}
