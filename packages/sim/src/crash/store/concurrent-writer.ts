import type { Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { runAsWorker, writeLine } from '../../processes/worker.ts';
import { openTidemark } from './open-tidemark.ts';

/**
 * One of several processes that write to the same store. In every lane it writes increasing numbers under its own name
 * into objects and a document that others write to as well, and reports each begin and end. It stops when its input ends.
 */
interface WriterOptions {
  readonly folder: string;
  readonly name: string;
  readonly lanes: readonly Lane[];
  /** Objects in each write of the lane `batch`. */
  readonly batchObjects: number;
}

/** `merge`: an attribute of its own in shared objects. `swap`: the same, by value. `append`: a document. `batch`: many objects. */
type Lane = 'merge' | 'swap' | 'append' | 'batch';

type WriterLine =
  | { readonly say: 'begin'; readonly lane: Lane; readonly number: number }
  /** `seq` is 0 if there is none. */
  | { readonly say: 'done'; readonly lane: Lane; readonly number: number; readonly seq: number }
  | { readonly say: 'refused'; readonly lane: Lane; readonly number: number };

const LIFE_MS = 1_200_000;
const SHARED = 'Catalog';
const PERSONAL = { source: 'Notes', user_id: 'ann' } as const;
const OBJECTS = 5;

/** Performs one write and returns its seq. */
type Work = (tidemark: Tidemark, options: WriterOptions, number: number) => Promise<number>;

const LANES: Readonly<Record<Lane, Work>> = {
  async merge(tidemark, { name }, number) {
    const objects = { [`o${number % OBJECTS}`]: { [name]: number } };
    return (await tidemark.objects.push({ source: SHARED, objects })).seq;
  },
  async swap(tidemark, { name }, number) {
    const id = `p${number % OBJECTS}`;
    const delete_data = { [id]: { [name]: number - OBJECTS } };
    return (await tidemark.objects.fastUpdate({ ...PERSONAL, delete_data, data: { [id]: { [name]: number } } })).seq;
  },
  async append(tidemark, { name }, number) {
    await tidemark.documents.write({ kind: 'server' }, 'log', { data: `${name}:${number};`, append: true });
    return 0;
  },
  async batch(tidemark, { name, batchObjects }, number) {
    const ids = Array.from({ length: batchObjects }, (_, index) => `${name}-${index}`);
    const objects = Object.fromEntries(ids.map((id) => [id, { number }]));
    return (await tidemark.objects.fastInsert({ source: SHARED, objects })).seq;
  },
};

let isEnding = false;

async function runLane(tidemark: Tidemark, options: WriterOptions, lane: Lane): Promise<void> {
  for (let number = 1; !isEnding; number++) {
    report({ say: 'begin', lane, number });
    try {
      report({ say: 'done', lane, number, seq: await LANES[lane](tidemark, options, number) });
    } catch (error) {
      // A write that lost too many races is refused, and has changed nothing.
      if (!(error instanceof Refusal && error.code === 'write_conflict')) throw error;
      report({ say: 'refused', lane, number });
    }
  }
}

function report(line: WriterLine): void {
  writeLine(line);
}

async function work(options: WriterOptions): Promise<void> {
  process.stdin.once('end', () => {
    isEnding = true;
  });
  process.stdin.resume();
  const tidemark = await openTidemark(options.folder);
  await Promise.all(options.lanes.map((lane) => runLane(tidemark, options, lane)));
  await tidemark.store.close();
}

await runAsWorker(LIFE_MS, work);
