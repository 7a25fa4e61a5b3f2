import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { Cli } from './cli.ts';
import { buildProgram } from './program.ts';
import { Terminal } from './terminal.ts';

async function newProgram(
  ...args: readonly string[]
): Promise<{ readonly program: Command; readonly shown: () => string }> {
  const stdout = new PassThrough();
  const chunks: string[] = [];
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough() };
  const program = await buildProgram(new Cli(new Terminal(streams, {}), {}, '/'), args);
  return { program, shown: () => chunks.splice(0).join('') };
}

/** Every command with its whole name, groups before their members. */
function everyCommand(command: Command, names: readonly string[] = []): readonly (readonly [string, Command])[] {
  return command.commands.flatMap((sub) => {
    const path = [...names, sub.name()];
    return [[path.join(' '), sub] as const, ...everyCommand(sub, path)];
  });
}

describe('help', () => {
  it('[CLI-9] the help of every command begins with examples and matches the snapshot', async () => {
    const { program, shown } = await newProgram();
    const texts = [['tidemark', program] as const, ...everyCommand(program)].map(([name, command]) => {
      command.outputHelp();
      const text = shown();
      expect(text).toMatch(/^Examples:\n {2}\$ /);
      return `### ${name}\n\n${text}`;
    });
    await expect(texts.join('\n')).toMatchFileSnapshot('./help.snapshot.txt');
  });

  it('[CLI-9] every example in the help uses a command and options that exist', async () => {
    const { program, shown } = await newProgram();
    const commands = new Map(everyCommand(program));
    for (const command of [program, ...commands.values()]) {
      command.outputHelp();
      const examples = [...shown().matchAll(/^ {2}\$ .*?\btidemark ([^|]*?)\)?$/gm)].map(([, rest = '']) => rest);
      for (const example of examples) expect(problemOf(example, commands, program), example).toBeNull();
    }
  });

  it('[CLI-23] a command loads only what it needs, and the help still lists all commands', async () => {
    const names = async (...args: string[]) => (await newProgram(...args)).program.commands.map((one) => one.name());
    const all = await names();
    const heavy = ['serve', 'dev', 'connect', 'config', 'backup', 'restore', 'migrate', 'verify', 'admin', 'doctor'];
    expect(all).toEqual(expect.arrayContaining(heavy));
    const light = all.filter((name) => !heavy.includes(name));
    expect(await names('--url', 'http://x', 'users', 'list')).toEqual(light);
    expect((await names('--json', 'verify')).sort()).toEqual([...light, 'verify'].sort());
    expect((await names('userz')).sort()).toEqual([...all].sort());
    expect(await names('--help')).toEqual(all);
  });

  it('[CLI-9] no option takes a secret', async () => {
    const { program } = await newProgram();
    const options = [program, ...everyCommand(program).map(([, command]) => command)].flatMap(
      (command) => command.options,
    );
    const suspicious = options.filter(({ flags }) => /pass|secret|token/i.test(flags)).map(({ flags }) => flags);
    expect([...new Set(suspicious)].sort()).toEqual([
      '--devices-token-ttl-s <number>',
      '--id-token-stdin',
      '--password',
      '--password-stdin',
      '--rate-limits-token-requests <number>',
      '--revoke-tokens',
      '--token-ttl-s <number>',
    ]);
  });
});

function problemOf(example: string, commands: ReadonlyMap<string, Command>, program: Command): string | null {
  const words = example.split(/\s+/);
  const command = commands.get(words.slice(0, 2).join(' ')) ?? commands.get(words[0] ?? '');
  if (command === undefined) return 'there is no such command';
  const known = [...command.options, ...program.options].flatMap(({ long }) => (long == null ? [] : [long]));
  return words.find((word) => word.startsWith('--') && !known.includes(word)) ?? null;
}

describe('docs/reference/cli.md', () => {
  it('[CLI-10] docs/reference/cli.md lists every command with its description, and nothing else', async () => {
    const text = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `tidemark ([a-z -]+)` \| (.*) \|$/gm)].map(([, name, description]) => [
      name,
      description,
    ]);
    const commands = everyCommand((await newProgram()).program).filter(
      ([, { commands: members }]) => members.length === 0,
    );
    expect(rows).toEqual(commands.map(([name, command]) => [name, command.description()]));
  });
});
