import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { drawHistory } from './draw-history.ts';
import { runHistory } from './simulate.ts';

const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 100 : 2;
const TIMEOUT_MS = 3_600_000;

it('[FILESIM-1] [FILESIM-3] [FILESIM-4] [FILESIM-5] histories of files pass on the embedded store', {
  timeout: TIMEOUT_MS,
}, async () => {
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const empty = await openEmbeddedStore({ folder: folder.path });
    expect(await runHistory(drawHistory(seed), { empty })).toBe(null);
    await empty.close();
  }
});

it('[FILESIM-1] [FILESIM-3] [FILESIM-4] [FILESIM-5] histories of files pass on Valkey', {
  timeout: TIMEOUT_MS,
}, async () => {
  const server = await startValkey();
  onTestFinished(() => server.remove());
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const empty = await openValkeyStore({ address: server.address, prefix: `files${seed}:` });
    expect(await runHistory(drawHistory(seed), { empty })).toBe(null);
    await empty.close();
  }
});
