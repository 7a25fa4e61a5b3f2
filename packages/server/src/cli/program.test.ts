import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { Cli } from './cli.ts';
import { buildProgram } from './program.ts';
import { Terminal } from './terminal.ts';

function newProgram(): { readonly program: Command; readonly shown: () => string } {
  const stdout = new PassThrough();
  const chunks: string[] = [];
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough() };
  const program = buildProgram(new Cli(new Terminal(streams, {}), {}, '/'));
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
  it('[CLI-9] of every command begins with examples and is as it was', async () => {
    const { program, shown } = newProgram();
    const texts = [['tidemark', program] as const, ...everyCommand(program)].map(([name, command]) => {
      command.outputHelp();
      const text = shown();
      expect(text).toMatch(/^Examples:\n {2}\$ /);
      return `### ${name}\n\n${text}`;
    });
    await expect(texts.join('\n')).toMatchFileSnapshot('./help.snapshot.txt');
  });

  it('[CLI-9] every example is a command that exists, with options that exist', () => {
    const { program, shown } = newProgram();
    const commands = new Map(everyCommand(program));
    for (const command of [program, ...commands.values()]) {
      command.outputHelp();
      const examples = [...shown().matchAll(/^ {2}\$ .*?\btidemark ([^|]*?)\)?$/gm)].map(([, rest = '']) => rest);
      for (const example of examples) expect(problemOf(example, commands, program), example).toBeNull();
    }
  });

  it('[CLI-9] no option takes a secret', () => {
    const { program } = newProgram();
    const options = [program, ...everyCommand(program).map(([, command]) => command)].flatMap(
      (command) => command.options,
    );
    const suspicious = options.filter(({ flags }) => /pass|secret|token/i.test(flags)).map(({ flags }) => flags);
    expect([...new Set(suspicious)].sort()).toEqual([
      '--devices-token-ttl-s <number>',
      '--password',
      '--password-stdin',
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

describe('docs/cli.md', () => {
  it('[CLI-10] lists every command with its description, and nothing else', () => {
    const text = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `tidemark ([a-z -]+)` \| (.*) \|$/gm)].map(([, name, told]) => [name, told]);
    const commands = everyCommand(newProgram().program).filter(([, { commands: members }]) => members.length === 0);
    expect(rows).toEqual(commands.map(([name, command]) => [name, command.description()]));
  });
});
