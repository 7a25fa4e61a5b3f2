import { Rng, seededRandom } from '@tidemark/testing/kit';
import { type DeviceHistory, partitionOf, SOURCES, type Step, USERS } from './step.ts';

const DEVICE_USERS = ['ada', 'ada', 'bob'] as const;
const BACKEND_IDS_MAX = 12;

/** How often each kind of step is drawn. */
const WEIGHTS: readonly (readonly [Step['kind'], number])[] = [
  ['backend_put', 14],
  ['backend_delete', 5],
  ['create', 12],
  ['update', 12],
  ['delete', 4],
  ['update_shared', 8],
  ['sync', 18],
  ['offline', 4],
  ['online', 6],
  ['kill_device', 6],
  ['kill_server', 2],
  ['wait', 9],
];

export function drawHistory(seed: number, stepsMax: number): DeviceHistory {
  const rng = new Rng(seededRandom(seed));
  const steps = Array.from({ length: rng.between(Math.ceil(stepsMax / 2), stepsMax) }, (_, index) =>
    drawStep(rng, index),
  );
  return { seed, users: DEVICE_USERS, pageObjects: rng.pick([1, 2, 3, 5, 8]), steps };
}

function drawStep(rng: Rng, index: number): Step {
  const device = rng.below(DEVICE_USERS.length);
  const source = rng.pick(SOURCES);
  const pick = rng.below(1_000);
  const partition = partitionOf(source, rng.pick(USERS));
  const ids = Array.from({ length: rng.between(1, 6) }, () => rng.below(BACKEND_IDS_MAX));
  const kind = rng.weighted(WEIGHTS);
  switch (kind) {
    case 'backend_put':
      return { kind, partition, ids, value: index };
    case 'backend_delete':
      return { kind, partition, ids };
    case 'create':
      return { kind, device, source };
    case 'update':
    case 'delete':
    case 'update_shared':
      return { kind, device, source, pick };
    case 'sync':
    case 'offline':
    case 'online':
      return { kind, device };
    case 'kill_device':
      return { kind, device, during: rng.chance(50) };
    case 'kill_server':
      return { kind };
    case 'wait':
      return { kind, turns: rng.between(1, 20) };
  }
}
