import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, temporaryFolder } from '@tidemark/testing';
import { runInProcess } from '@tidemark/testing/server';
import { beforeAll, describe, expect, it } from 'vitest';

type Shell = 'bash' | 'zsh' | 'fish';

const files = new Map<Shell, string>();

beforeAll(async () => {
  const folder = await temporaryFolder();
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const { code, out } = await runInProcess(['completion', shell], { env: {}, folder: folder.path });
    expect(code).toBe(0);
    const file = join(folder.path, `tidemark.${shell}`);
    writeFileSync(file, out);
    files.set(shell, file);
  }
  return folder.remove;
});

const PROGRAMS: Readonly<Record<Shell, string>> = {
  bash: '/bin/bash',
  zsh: findProgram({ names: ['zsh'], variable: 'TIDEMARK_ZSH' }),
  fish: findProgram({ names: ['fish'], variable: 'TIDEMARK_FISH' }),
};

/** What the shell proposes for the last of the words, in the order of the alphabet. */
function proposals(shell: Shell, ...words: readonly string[]): readonly string[] {
  const file = files.get(shell) ?? '';
  const line = ['tidemark', ...words];
  const scripts: Readonly<Record<Shell, readonly string[]>> = {
    bash: [
      '-c',
      `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tidemark; printf "%s\\n" "\${COMPREPLY[@]}"`,
    ],
    // The functions of the completion system exist only while a line is edited.
    zsh: [
      '-fc',
      `compdef() { : }; _files() { : }; _describe() { local list="\${@[-1]}"; print -rl -- "\${(P@)list}" }; source "$0"; words=("$@"); CURRENT=$#; _tidemark`,
    ],
    fish: ['-Nc', 'source $argv[1]; complete -C (string join " " -- $argv[2..-1])'],
  };
  const args = [...scripts[shell], file, ...line];
  const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' };
  const out = execFileSync(PROGRAMS[shell], args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
  const last = words.at(-1) ?? '';
  const names = out.split('\n').map((text) => text.split(shell === 'fish' ? '\t' : ':')[0] ?? '');
  return [...new Set(names)].filter((name) => name !== '' && name.startsWith(last)).sort();
}

describe.each(['bash', 'zsh', 'fish'] as const)('the script for %s', (shell) => {
  it('[CLI-61] completes commands, commands of a group, options and values', () => {
    expect(proposals(shell, 'ser')).toEqual(['serve']);
    expect(proposals(shell, 'users', 'c')).toEqual(['clients', 'create']);
    expect(proposals(shell, 'users', 'set', '--pass')).toEqual(['--password', '--password-stdin']);
    expect(proposals(shell, 'completion', '')).toEqual(expect.arrayContaining(['bash', 'fish', 'zsh']));
    expect(proposals(shell, 'sources', 'declare', 'X', '--partition-type', '')).toEqual(
      expect.arrayContaining(['app', 'group', 'user']),
    );
  });

  it('[CLI-61] completes what stands after the options of the program and their values', () => {
    expect(proposals(shell, '--url', 'users', 'jobs', 'dis')).toEqual([]);
    expect(proposals(shell, '--json', '--url', 'users', 'users', 'inv')).toEqual(['invite']);
    expect(proposals(shell, 'users', 'list', '--js')).toEqual(['--json']);
  });
});
