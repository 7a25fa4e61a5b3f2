import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProgramMissing } from './program.mjs';
import { VALKEY } from './valkey.mjs';

function folderWith(...names) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of names) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

/** A machine without a server, on which the named commands succeed. */
function bareMachine(works, onRun = () => undefined) {
  const calls = [];
  const run = async (command, args) => {
    calls.push([command, ...args].join(' '));
    onRun(command, args);
    const name = command === 'sudo' && args[1] === 'true' ? 'sudo' : command;
    if (!works.includes(name)) throw Object.assign(new Error('not found'), { code: 'ENOENT' });
    return { code: 0, output: '' };
  };
  return { calls, run };
}

const env = (folder) => ({ PATH: folder, TIDEMARK_VALKEY_FOLDERS: '' });
const quiet = { say: () => undefined };

describe('a program that tests need, such as the server of the Valkey engine,', () => {
  it('is found on the path, valkey before redis, or where it is named', () => {
    const both = folderWith('redis-server', 'valkey-server');
    expect(VALKEY.find(env(both))).toBe(join(both, 'valkey-server'));
    const one = folderWith('redis-server');
    expect(VALKEY.find(env(one))).toBe(join(one, 'redis-server'));
    expect(VALKEY.find({ ...env(one), TIDEMARK_VALKEY_SERVER: join(both, 'valkey-server') })).toMatch(/valkey-server$/);
    expect(VALKEY.find({ ...env(one), TIDEMARK_VALKEY_SERVER: join(one, 'missing') })).toBeNull();
    expect(VALKEY.find(env(folderWith()))).toBeNull();
  });

  it('is installed by root, without starting a service', async () => {
    const folder = folderWith();
    const { calls, run } = bareMachine(['apt-get', 'sh'], (command) => {
      if (command === 'sh') writeFileSync(join(folder, 'redis-server'), '#!/bin/sh\n', { mode: 0o755 });
    });
    expect(await VALKEY.ensure({ env: env(folder), run, uid: 0, ...quiet })).toBe(join(folder, 'redis-server'));
    expect(calls.at(-1)).toMatch(/^sh -c [\s\S]*policy-rc\.d[\s\S]*exit 101[\s\S]*apt-get install/);
  });

  it('is installed with sudo by everybody else', async () => {
    const folder = folderWith();
    const { calls, run } = bareMachine(['apt-get', 'sudo'], (command, args) => {
      if (command === 'sudo' && args.includes('sh')) {
        writeFileSync(join(folder, 'redis-server'), '#!/bin/sh\n', { mode: 0o755 });
      }
    });
    expect(await VALKEY.ensure({ env: env(folder), run, uid: 1000, ...quiet })).toBe(join(folder, 'redis-server'));
    expect(calls.at(-1)).toMatch(/^sudo -n sh -c /);
  });

  it.each([
    [['sudo', 'sh'], 0, /there is no apt-get/],
    [['apt-get', 'sh'], 1000, /may neither install packages nor use sudo/],
    [['apt-get', 'sh'], 0, /apt-get failed with exit code 0/],
  ])('is missed loudly where it cannot be installed: %j as %i', async (works, uid, reason) => {
    const { run } = bareMachine(works);
    const asked = VALKEY.ensure({ env: env(folderWith()), run, uid, ...quiet });
    await expect(asked).rejects.toThrow(ProgramMissing);
    await expect(asked).rejects.toThrow(reason);
    await expect(asked).rejects.toThrow(/apt-get install redis-server/);
  });
});
