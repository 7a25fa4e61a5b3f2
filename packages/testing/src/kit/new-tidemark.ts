import { openMemoryStore, seededRandom } from '@tidemark/client-testing';
import { type Store, Tidemark, type TidemarkParts } from '@tidemark/core';
import { DEFAULT_LIMITS, type Limits } from '@tidemark/protocol';
import { type CollectingLog, collectingLog } from './collecting-log.ts';
import { type SettableClock, settableClock } from './settable-clock.ts';
import { weakPasswords } from './weak-passwords.ts';

export interface TestTidemark {
  readonly tidemark: Tidemark;
  readonly store: Store;
  readonly clock: SettableClock;
  readonly log: CollectingLog;
}

/** Returns a Tidemark with a user source `Order`, an app source `Product` and two users; by default on a memory store. */
export async function newTidemark(
  options: { readonly store?: Store; readonly clock?: SettableClock; readonly limits?: Partial<Limits> } & Pick<
    TidemarkParts,
    'adapters' | 'jobs' | 'pace' | 'loginsKeptMs' | 'server' | 'wait' | 'pullWaitMs' | 'fileRules'
  > = {},
): Promise<TestTidemark> {
  const random = seededRandom(1);
  const store = options.store ?? openMemoryStore({ random });
  const clock = options.clock ?? settableClock();
  const log = collectingLog();
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const passwords = weakPasswords(random);
  const tidemark = new Tidemark({ ...options, store, clock, random, passwords, log, limits });
  await tidemark.sources.declare({ name: 'Order', partition_type: 'user' });
  await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
  for (const login of ['ada', 'bob']) await tidemark.users.create({ attributes: { login, password: 'long enough' } });
  return { tidemark, store, clock, log };
}
