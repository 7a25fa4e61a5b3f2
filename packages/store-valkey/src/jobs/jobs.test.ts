import {
  type JobsEngine,
  type JobsOptions,
  jobsContract,
  type OpenJobs,
  startValkey,
  startValkeyCluster,
} from '@tidemark/testing';
import { afterAll, beforeAll, describe } from 'vitest';
import { openValkeyStore } from '../open-store.ts';

describe.each(['one node', 'a cluster'])('on %s', (where) => {
  const prefixes = new Map<OpenJobs, string>();
  let servers: { readonly address: string; remove(): Promise<void> };
  let stores = 0;

  beforeAll(async () => {
    const settings = { appendonly: 'no' };
    servers = where === 'one node' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  });

  afterAll(() => servers.remove());

  async function open(prefix: string, { clock, ...bounds }: JobsOptions): Promise<OpenJobs> {
    const store = await openValkeyStore({ address: servers.address, prefix, answerMs: 30_000 });
    const opened: OpenJobs = { jobs: store.jobs({ clock, bounds }), close: () => store.close() };
    prefixes.set(opened, prefix);
    return opened;
  }

  const engine: JobsEngine = {
    open: (options) => open(`${where} ${++stores}:`, options),
    reopen: (closed, options) => open(prefixes.get(closed) ?? '', options),
  };

  jobsContract('the Valkey engine', engine);
});
