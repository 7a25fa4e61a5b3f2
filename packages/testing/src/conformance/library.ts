import { randomBytes } from 'node:crypto';
import { seededRandom } from '@tidemark/client-testing';
import { type Clock, type Finding, type Jobs, type Store, Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { collectingLog } from '../kit/collecting-log.ts';
import { weakPasswords } from '../kit/weak-passwords.ts';

/** Direct access to the data of a running server, for actions and checks that no route offers. */
export interface Library {
  readonly tidemark: Tidemark;
  /** Enqueues a job of an unknown kind. */
  leaveJob(queue: string, state: 'due' | 'dead'): Promise<void>;
  /** Returns the findings of the store's check. */
  verify(): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

/** Engines keep jobs in the same store. */
type StoreWithJobs = Store & { jobs(parts: { readonly clock: Clock }): Jobs };

/** Opens the store in a folder, or uses the given store. A server may have it open at the same time. */
export async function openLibrary(place: string | StoreWithJobs): Promise<Library> {
  const store = typeof place === 'string' ? await openEmbeddedStore({ folder: place }) : place;
  const tidemark = new Tidemark({
    store,
    clock: { nowMs: () => Date.now() },
    random: { bytes: (count) => randomBytes(count) },
    // The server could not verify passwords set here, so nothing sets any.
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
