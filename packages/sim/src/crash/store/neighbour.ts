import type { Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { say } from '../say.ts';
import { startWatchdog } from '../watchdog.ts';
import { openTidemark } from './open-tidemark.ts';

/**
 * One of several processes that work on the same store. In every lane it writes one number after the other, always
 * under its own name, into objects and a document that others write to as well, and says when it begins and when it
 * is done. It ends in good order when its input ends.
 */
export interface NeighbourOrders {
  readonly folder: string;
  readonly name: string;
  readonly lanes: readonly Lane[];
  /** Objects in each write of the lane `batch`. */
  readonly batchObjects: number;
}

/** `merge`: an attribute of its own in shared objects. `swap`: the same, by value. `append`: a document. `batch`: many objects. */
export type Lane = 'merge' | 'swap' | 'append' | 'batch';

export type NeighbourLine =
  | { readonly say: 'begin'; readonly lane: Lane; readonly number: number }
  /** `seq` is 0 where there is none. */
  | { readonly say: 'done'; readonly lane: Lane; readonly number: number; readonly seq: number }
  | { readonly say: 'refused'; readonly lane: Lane; readonly number: number }
  | { readonly say: 'failed'; readonly reason: string };

const LIFE_MS = 1_200_000;
const SHARED = 'Catalog';
const PERSONAL = { source: 'Notes', user_id: 'ann' } as const;
const OBJECTS = 5;

/** Gives the seq behind the write. */
type Work = (tidemark: Tidemark, orders: NeighbourOrders, number: number) => Promise<number>;

const LANES: Readonly<Record<Lane, Work>> = {
  async merge(tidemark, { name }, number) {
    const objects = { [`o${number % OBJECTS}`]: { [name]: number } };
    return (await tidemark.pushObjects({ source: SHARED, objects })).seq;
  },
  async swap(tidemark, { name }, number) {
    const id = `p${number % OBJECTS}`;
    const delete_data = { [id]: { [name]: number - OBJECTS } };
    return (await tidemark.fastUpdate({ ...PERSONAL, delete_data, data: { [id]: { [name]: number } } })).seq;
  },
  async append(tidemark, { name }, number) {
    await tidemark.writeDocument({ kind: 'server' }, 'log', { data: `${name}:${number};`, append: true });
    return 0;
  },
  async batch(tidemark, { name, batchObjects }, number) {
    const ids = Array.from({ length: batchObjects }, (_, index) => `${name}-${index}`);
    const objects = Object.fromEntries(ids.map((id) => [id, { number }]));
    return (await tidemark.fastInsert({ source: SHARED, objects })).seq;
  },
};

let isEnding = false;

async function runLane(tidemark: Tidemark, orders: NeighbourOrders, lane: Lane): Promise<void> {
  for (let number = 1; !isEnding; number++) {
    tell({ say: 'begin', lane, number });
    try {
      tell({ say: 'done', lane, number, seq: await LANES[lane](tidemark, orders, number) });
    } catch (error) {
      // Whoever was overtaken too often is told so, and has changed nothing.
      if (!(error instanceof Refusal && error.code === 'write_conflict')) throw error;
      tell({ say: 'refused', lane, number });
    }
  }
}

function tell(line: NeighbourLine): void {
  say(line);
}

async function work(orders: NeighbourOrders): Promise<void> {
  startWatchdog(LIFE_MS);
  process.stdin.once('end', () => {
    isEnding = true;
  });
  process.stdin.resume();
  const tidemark = await openTidemark(orders.folder);
  await Promise.all(orders.lanes.map((lane) => runLane(tidemark, orders, lane)));
  await tidemark.store.close();
}

try {
  await work(JSON.parse(process.argv[2] ?? '') as NeighbourOrders);
} catch (error) {
  tell({ say: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exitCode = 1;
}
