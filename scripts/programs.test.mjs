import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findProgram, HEADLESS_SHELL, installPrograms, PROGRAMS } from './programs.mjs';

const [VALKEY] = PROGRAMS;

/** A machine whose only programs are the named ones, which can run the named commands. */
function machine({ programs = [], works = [], isRoot = true, installs = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-programs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const add = (name) => writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 });
  const calls = [];
  programs.forEach(add);
  return {
    calls,
    folder,
    env: { PATH: folder },
    folders: [],
    isRoot,
    succeeds: (command) => works.includes(command),
    run: async (command, args) => {
      calls.push([command, ...args].join(' '));
      installs.forEach(add);
      return 100;
    },
  };
}

describe('programs that tests need', () => {
  it('are found on the path, valkey before redis, or where a variable names them', () => {
    const both = machine({ programs: ['redis-server', 'valkey-server'] });
    const one = machine({ programs: ['redis-server'] });
    expect(findProgram(VALKEY, both)).toBe(join(both.folder, 'valkey-server'));
    expect(findProgram(VALKEY, one)).toBe(join(one.folder, 'redis-server'));
    expect(findProgram(VALKEY, machine())).toBeUndefined();
    const named = (path) => findProgram(VALKEY, { ...one, env: { ...one.env, TIDEMARK_VALKEY_SERVER: path } });
    expect(named(join(both.folder, 'valkey-server'))).toBe(join(both.folder, 'valkey-server'));
    expect(named('/nowhere')).toBeUndefined();
  });

  it.each([
    [
      true,
      /^sh -c [\s\S]*policy-rc\.d[\s\S]*exit 101[\s\S]*apt-get install[\s\S]* redis-server chromium nginx-light caddy zsh fish postgresql pgbouncer$/,
    ],
    [false, /^sudo -n sh -c [\s\S]* redis-server chromium nginx-light caddy zsh fish postgresql pgbouncer$/],
  ])('are installed without starting a service; by root: %s', async (isRoot, command) => {
    const installs = ['redis-server', 'chromium', 'nginx', 'caddy', 'zsh', 'fish', 'postgres', 'pgbouncer'];
    const bare = machine({ works: ['apt-get', 'sudo'], isRoot, installs });
    expect(await installPrograms(bare, PROGRAMS, [])).toBeNull();
    expect(bare.calls).toEqual([expect.stringMatching(command)]);
    expect([await installPrograms(bare, PROGRAMS, []), bare.calls.length]).toEqual([null, 1]);
  });

  it('programs that only make tests faster may be missing', async () => {
    const unknown = machine({ works: ['apt-get'], installs: ['valkey-server'] });
    expect(await installPrograms(unknown, [VALKEY], [HEADLESS_SHELL])).toBeNull();
    expect(unknown.calls).toEqual([expect.stringMatching(/apt-get install[\s\S]* redis-server$/)]);
  });

  it('programs that only make tests faster are installed last, where apt knows them', async () => {
    const bare = machine({ works: ['apt-get', 'apt-cache'], installs: ['valkey-server'] });
    expect(await installPrograms(bare, [VALKEY], [HEADLESS_SHELL])).toBeNull();
    expect(bare.calls).toEqual([
      expect.stringMatching(/apt-get install[\s\S]* redis-server$/),
      expect.stringMatching(/apt-get install[\s\S]* chromium-headless-shell$/),
    ]);
  });

  it.each([
    ['there is no apt-get', {}, true],
    ['this user may neither install packages nor use sudo', { works: ['apt-get'] }, false],
    ['apt-get failed with exit code 100', { works: ['apt-get'] }, true],
  ])('are reported as missing when %s', async (reason, options, isRoot) => {
    const problem = await installPrograms(machine({ programs: ['chromium'], isRoot, ...options }));
    expect(problem).toContain(reason);
    expect(problem).toContain('valkey-server or redis-server (on Debian and Ubuntu: apt-get install redis-server)');
    expect(problem).not.toContain('chromium');
  });
});
