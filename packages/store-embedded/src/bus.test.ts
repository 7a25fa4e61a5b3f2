import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedBus } from './bus.ts';

/** A bus on the folder that records what it hears and can wait for a number of texts. */
async function joinAt(folder: string) {
  const heard: string[] = [];
  let wake: () => void = () => undefined;
  const onText = (text: string) => {
    heard.push(text);
    wake();
  };
  const bus = await openEmbeddedBus({ folder }, { onText, onGap: () => undefined });
  onTestFinished(() => bus.close());
  const hears = async (text: string) => {
    while (!heard.includes(text)) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { bus, heard, hears };
}

async function newFolder(...inside: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, ...inside);
  mkdirSync(path, { recursive: true });
  return path;
}

it('[MANY-15] processes that share a data folder hear each other, whichever started first', async () => {
  const folder = await newFolder();
  const all = [await joinAt(folder), await joinAt(folder), await joinAt(folder)];
  for (const [index, { bus }] of all.entries()) bus.publish(`from ${index}`);
  for (const [index, { hears }] of all.entries()) {
    for (const other of [0, 1, 2].filter((one) => one !== index)) await hears(`from ${other}`);
  }
  expect(all.map(({ heard }) => heard.length)).toEqual([2, 2, 2]);
});

it('[MANY-15] processes that start at the same moment find each other', async () => {
  const folder = await newFolder();
  const [one, two] = await Promise.all([joinAt(folder), joinAt(folder)]);
  one.bus.publish('first');
  two.bus.publish('second');
  await Promise.all([one.hears('second'), two.hears('first')]);
});

it('[MANY-15] texts published right before closing arrive, and closing leaves no socket behind', async () => {
  const folder = await newFolder();
  const [one, two] = [await joinAt(folder), await joinAt(folder)];
  one.bus.publish('early');
  await two.hears('early');
  two.bus.publish('goodbye');
  await two.bus.close();
  await one.hears('goodbye');
  await one.bus.close();
  expect(readdirSync(join(folder, 'bus'))).toEqual([]);
});

it('[MANY-15] the socket of a killed process is removed', async () => {
  const folder = await newFolder();
  const bus = new URL('../dist/bus.js', import.meta.url).href;
  const script = `import { openEmbeddedBus } from ${JSON.stringify(bus)};
    await openEmbeddedBus({ folder: ${JSON.stringify(folder)} }, { onText() {}, onGap() {} });
    process.stdout.write('open'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(readdirSync(join(folder, 'bus'))).toHaveLength(1);
  const [one, two] = [await joinAt(folder), await joinAt(folder)];
  one.bus.publish('alive');
  await two.hears('alive');
  expect(readdirSync(join(folder, 'bus'))).toHaveLength(2);
});

it('[MANY-15] a process whose socket was removed listens again and is found', async () => {
  const folder = await newFolder();
  const one = await joinAt(folder);
  rmSync(join(folder, 'bus'), { recursive: true });
  while (readdirSync(folder).length === 0 || readdirSync(join(folder, 'bus')).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const two = await joinAt(folder);
  two.bus.publish('here');
  await one.hears('here');
});

it('[MANY-15] the bus works when the path of the data folder is too long for a socket', async () => {
  const folder = await newFolder('a'.repeat(80), 'b'.repeat(80));
  const [one, two] = [await joinAt(folder), await joinAt(folder)];
  one.bus.publish('far away');
  await two.hears('far away');
});

it('[MANY-15] a socket folder that other users may open is refused', async () => {
  const folder = await newFolder();
  mkdirSync(join(folder, 'bus'));
  chmodSync(join(folder, 'bus'), 0o777);
  await expect(openEmbeddedBus({ folder }, { onText() {}, onGap() {} })).rejects.toThrow(/only this user may open/);
});
