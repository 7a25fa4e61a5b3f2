import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { runServers } from './run-servers.ts';

it('[MANY-19] servers killed under load lose no acknowledged write, all devices converge, and a partition has one query at a time', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const options = { rounds: 1, servers: 2, store: 'embedded', seed: 1, folder: folder.path } as const;
  const { problems, kills, writes, queries } = await runServers(options);
  expect(problems).toEqual([]);
  expect(kills).toBe(1);
  expect(writes).toBeGreaterThan(10);
  expect(queries).toBeGreaterThan(0);
});
