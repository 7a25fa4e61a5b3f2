import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { CliFailure, EXIT, usageFailure } from './cli-failure.ts';

/** The streams of a process. On a terminal they have the members of a terminal. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

const STDIN_BYTES_MAX = 500_000_000;
const SECRET_UNITS_MAX = 4_096;
const ENTER: ReadonlySet<string> = new Set(['\r', '\n', '\u0004']);
const RUB_OUT: ReadonlySet<string> = new Set(['\u007f', '\b']);
const CTRL_C = '\u0003';

/** Writes data to the standard output and messages to the standard error output, so that pipes carry data only. */
export class Terminal {
  readonly #streams: Streams;
  readonly hasColour: boolean;

  constructor(streams: Streams, env: Readonly<Record<string, string | undefined>>) {
    this.#streams = streams;
    this.hasColour = streams.stderr.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  }

  /** True when a user can answer a prompt. */
  get isInteractive(): boolean {
    return this.#streams.stdin.isTTY === true && this.#streams.stderr.isTTY === true;
  }

  /** True when the output goes to a terminal. */
  get isRead(): boolean {
    return this.#streams.stdout.isTTY === true;
  }

  get isStdinTerminal(): boolean {
    return this.#streams.stdin.isTTY === true;
  }

  out(text: string): void {
    this.#streams.stdout.write(text);
  }

  say(line: string): void {
    this.err(`${line}\n`);
  }

  err(text: string): void {
    this.#streams.stderr.write(text);
  }

  async ask(question: string): Promise<string> {
    const lines = createInterface({ input: this.#streams.stdin, output: this.#streams.stderr });
    lines.once('SIGINT', () => lines.close());
    try {
      const closed = new Promise<never>((_resolve, reject) => lines.once('close', () => reject(interrupted())));
      return await Promise.race([lines.question(question), closed]);
    } finally {
      lines.close();
    }
  }

  /** Prompts for a line that is not shown. */
  async askSecret(question: string): Promise<string> {
    const { stdin, stderr } = this.#streams;
    stderr.write(question);
    stdin.setEncoding('utf8');
    stdin.setRawMode?.(true);
    try {
      return await this.#readHidden();
    } finally {
      stdin.setRawMode?.(false);
      stdin.pause();
      stderr.write('\n');
    }
  }

  /** Reads the standard input to its end. */
  async readInput(): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of this.#streams.stdin) {
      const part = Buffer.from(chunk as Buffer | string);
      bytes += part.length;
      if (bytes > STDIN_BYTES_MAX) throw usageFailure(`the input is larger than ${STDIN_BYTES_MAX} bytes`);
      chunks.push(part);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  #readHidden(): Promise<string> {
    const { stdin } = this.#streams;
    const characters: string[] = [];
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        stdin.off('data', onData);
        stdin.off('end', onEnd);
        settle();
      };
      const onEnd = () => end(() => reject(interrupted()));
      const onData = (text: string) => {
        const last = typeSecret(characters, text);
        if (last === CTRL_C) onEnd();
        else if (last !== null) end(() => resolve(characters.join('')));
      };
      stdin.on('data', onData);
      stdin.once('end', onEnd);
      stdin.resume();
    });
  }
}

/** Adds what was typed to the secret. Returns the character that ends it, or null. */
function typeSecret(secret: string[], text: string): string | null {
  for (const character of text) {
    if (character === CTRL_C || ENTER.has(character)) return character;
    if (RUB_OUT.has(character)) secret.pop();
    else if (secret.length < SECRET_UNITS_MAX) secret.push(character);
  }
  return null;
}

function interrupted(): CliFailure {
  return new CliFailure('nothing was done', { exitCode: EXIT.interrupted });
}
