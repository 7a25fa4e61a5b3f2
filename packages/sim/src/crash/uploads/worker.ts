import { randomBytes } from 'node:crypto';
import { type Adapter, JobFailure, type Jobs, type LeasedJob, Tidemark } from '@tidemark/core';
import type { JsonValue } from '@tidemark/protocol';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { collectingLog, seededRandom, weakPasswords } from '@tidemark/testing/kit';
import { runAsWorker, writeLine } from '../../processes/worker.ts';

import { LEASE_MS, type Line, QUEUE, type WorkerOptions } from './line.ts';

const LIFE_MS = 600_000;
const CONSUMERS = 4;
const clock = { nowMs: () => Date.now() };

/** Returns an adapter for the backend over HTTP. */
function adapterAt(url: string): Adapter {
  const call = async (name: string, body: object): Promise<{ readonly id?: string }> => {
    writeLine({ say: 'call' } satisfies Line);
    const response = await fetch(`${url}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`answered ${response.status}`);
    return (await response.json()) as { readonly id?: string };
  };
  return {
    query: async () => ({ objects: {} }),
    create: async (upload: { readonly id: string; readonly attributes: JsonValue }) =>
      (await call('create', upload)).id ?? upload.id,
    update: async (upload) => void (await call('update', upload)),
    delete: async (upload) => void (await call('delete', upload)),
  };
}

async function consume(tidemark: Tidemark, jobs: Jobs): Promise<void> {
  for (;;) {
    const job = await jobs.lease(QUEUE, LEASE_MS);
    if (job !== null) await run(tidemark, jobs, job);
    else if (await isEmpty(jobs)) return;
    else await new Promise((resolve) => setImmediate(resolve));
  }
}

async function run(tidemark: Tidemark, jobs: Jobs, job: LeasedJob): Promise<void> {
  try {
    await tidemark.devices.runUpload(job);
    await jobs.acknowledge(job);
  } catch (error) {
    if (!(error instanceof JobFailure)) throw error;
    await jobs.retry(job, Date.now(), error.message);
  }
}

async function isEmpty(jobs: Jobs): Promise<boolean> {
  const { due, delayed, waiting, leased } = (await jobs.describe(QUEUE)).counts;
  return due + delayed + waiting + leased === 0;
}

/** The process that is killed. It carries uploads to the backend until it is killed or none is left. */
async function work({ folder, url }: WorkerOptions): Promise<void> {
  const store = await openEmbeddedStore({ folder });
  const jobs = store.jobs({ clock });
  const adapter = adapterAt(url);
  const tidemark = new Tidemark({
    store,
    clock,
    random: { bytes: (count) => randomBytes(count) },
    passwords: weakPasswords(seededRandom(1)),
    log: collectingLog(),
    adapters: { find: () => adapter },
    jobs,
  });
  await Promise.all(Array.from({ length: CONSUMERS }, () => consume(tidemark, jobs)));
  await store.close();
}

await runAsWorker(LIFE_MS, work);
