import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import type { Change, PartitionKey, Store } from '@tidemark/core';
import { recordOf, remove } from './change.ts';
import { PartitionModel } from './partition-model.ts';
import { ORDERS } from './store-assertions.ts';

export interface RandomHistory {
  readonly seed: number;
  readonly commits: number;
  /** With few ids, objects are often created and deleted. */
  readonly ids: number;
  /** Absent: up to four. */
  readonly changesMax?: number;
  /** Texts of the records. Absent: short texts. */
  readonly texts?: readonly string[];
  readonly partition?: PartitionKey;
  /** Called after every commit. */
  readonly check?: (model: PartitionModel) => Promise<void>;
}

const CHECKSUM_LIMIT = 2 ** 52;
const SHORT_TEXTS = ['', 'é', '😀', 'plain', 'x'.repeat(40)];

/** Commits random changes to a store and to the model. */
export async function randomHistory(store: Store, history: RandomHistory): Promise<PartitionModel> {
  const rng = new Rng(seededRandom(history.seed));
  const model = new PartitionModel();
  const ids = Array.from({ length: history.ids }, (_, number) => `id ${number}`);
  for (let round = 0; round < history.commits; round++) {
    const changed = rng.shuffle(ids).slice(0, rng.between(1, history.changesMax ?? 4));
    const changes = changed.map((id) =>
      randomChange(rng, model, id, `${round}${rng.pick(history.texts ?? SHORT_TEXTS)}`),
    );
    const { status } = await store.commit({ partition: history.partition ?? ORDERS, changes, guards: [] });
    assert.equal(status, 'committed', `seed ${history.seed}, round ${round}`);
    model.commit(changes);
    await history.check?.(model);
  }
  return model;
}

function randomChange(rng: Rng, model: PartitionModel, id: string, label: string): Change {
  const expectation = rng.chance(30) ? { expect: model.seqOf(id) } : {};
  if (rng.chance(35)) return { ...remove(id), ...expectation };
  // The largest checksums show a sum without modulus at once.
  const checksum = rng.chance(30) ? CHECKSUM_LIMIT - 1 : rng.below(2 ** 32) * 2 ** 20;
  return { id, record: recordOf(id, label), checksum, ...expectation };
}
