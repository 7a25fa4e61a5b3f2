import {
  type JobsEngine,
  type JobsOptions,
  jobsContract,
  type OpenJobs,
  type TemporaryFolder,
  temporaryFolder,
} from '@tidemark/testing';
import { afterAll } from 'vitest';
import { openEmbeddedStore } from '../open-store.ts';

const folders = new Map<OpenJobs, TemporaryFolder>();

async function openIn(folder: TemporaryFolder, { clock, ...bounds }: JobsOptions): Promise<OpenJobs> {
  const store = await openEmbeddedStore({ folder: folder.path });
  const open: OpenJobs = { jobs: store.jobs({ clock, bounds }), close: () => store.close() };
  folders.set(open, folder);
  return open;
}

const engine: JobsEngine = {
  open: async (options) => openIn(await temporaryFolder(), options),
  async reopen(closed, options) {
    const folder = folders.get(closed);
    if (folder === undefined) throw new Error('those jobs were never open');
    return openIn(folder, options);
  },
};

afterAll(async () => {
  for (const folder of folders.values()) await folder.remove();
});

jobsContract('the embedded engine', engine);
