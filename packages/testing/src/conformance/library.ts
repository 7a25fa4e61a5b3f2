import { randomBytes } from 'node:crypto';
import { type Clock, type Finding, type Jobs, type Store, Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { collectingLog } from '../kit/collecting-log.ts';
import { seededRandom } from '../kit/seeded-random.ts';
import { weakPasswords } from '../kit/weak-passwords.ts';

/** The data of a running server, reached without its routes: for what no route does, and to look behind them. */
export interface Library {
  readonly tidemark: Tidemark;
  /** Leaves a job that nobody knows how to run. */
  leaveJob(queue: string, state: 'due' | 'dead'): Promise<void>;
  /** What is wrong with the data; empty when all is well. */
  verify(): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

/** Engines keep the jobs beside the data. */
type StoreWithJobs = Store & { jobs(parts: { readonly clock: Clock }): Jobs };

/** Opens a folder, or takes over a store, that a server may have open at the same time. */
export async function openLibrary(place: string | StoreWithJobs): Promise<Library> {
  const store = typeof place === 'string' ? await openEmbeddedStore({ folder: place }) : place;
  const tidemark = new Tidemark({
    store,
    clock: { nowMs: () => Date.now() },
    random: { bytes: (count) => randomBytes(count) },
    // Passwords set by this library would be good for nothing on the server; nobody sets any.
    passwords: weakPasswords(seededRandom(1)),
    log: collectingLog(),
  });
  const jobs = store.jobs({ clock: { nowMs: () => Date.now() } });
  return {
    tidemark,
    async leaveJob(queue, state) {
      await jobs.enqueue(queue, { kind: 'nothing', payload: '', attemptsMax: 3 });
      const job = state === 'dead' ? await jobs.lease(queue, 60_000) : null;
      if (job !== null) await jobs.bury(job, 'it was to die');
    },
    async verify() {
      const findings: Finding[] = [];
      for await (const finding of tidemark.verify()) findings.push(finding);
      return findings;
    },
    close: () => store.close(),
  };
}
