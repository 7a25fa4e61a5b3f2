import { join } from 'node:path';
import type { Jobs, MovableStore } from '@tidemark/core/ports';
import { acknowledged } from './acknowledged.ts';
import { beginChanges } from './changes.ts';
import { convertTidemarks } from './convert-tidemarks.ts';
import {
  type Manifest,
  type Opening,
  permissionWarnings,
  prepareFolder,
  restrictToOwner,
  writeManifest,
} from './data-folder.ts';
import { LOW_DISK_BYTES } from './disk-reserve.ts';
import { documents } from './documents.ts';
import type { EngineContext } from './engine-context.ts';
import { entries } from './entries.ts';
import { exportTables } from './export.ts';
import { fileIndex } from './file-index.ts';
import { migration } from './import.ts';
import { type EmbeddedJobs, type EmbeddedJobsOptions, embeddedJobs } from './jobs/jobs.ts';
import { journal } from './journal.ts';
import { lifecycle } from './lifecycle.ts';
import { addEpoch, newId, setEpoch } from './meta.ts';
import { notes } from './notes.ts';
import { ReadState } from './read-state.ts';
import { stats } from './stats.ts';
import { MAP_BYTES, openTables, STORE_FILE, type Tables } from './tables.ts';
import { tidemarks } from './tidemarks.ts';
import { verifyTables } from './verify.ts';
import { Writer } from './writer.ts';

export interface EmbeddedOptions {
  /** Created when it does not exist. Several processes may open the same folder. */
  readonly folder: string;
  /** Address space reserved for the store; it takes no disk. */
  readonly mapBytes?: number;
  /** Tombstones, or rows of statistics, that one call of `trim` or `trimStats` deletes. */
  readonly trimStepMax?: number;
  /** How often the store looks for readers that died with their process. */
  readonly readerCheckMs?: number;
  /** With less free disk than this, part of it is reserved for deletions. */
  readonly lowDiskBytes?: number;
  /** Default: by a server. */
  readonly opening?: Opening;
}

export interface EmbeddedStore extends MovableStore {
  /**
   * The job queues of this store. They live in its file and are written by its writer, so a backup, a reset and a close
   * include them. One call per process is enough: `watch` reports only what is done through the same value.
   */
  jobs(options: EmbeddedJobsOptions): Jobs;
}

const TRIM_STEP_MAX = 10_000;
const READER_CHECK_MS = 30_000;

export async function openEmbeddedStore(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { folder, mapBytes = MAP_BYTES, readerCheckMs = READER_CHECK_MS, lowDiskBytes = LOW_DISK_BYTES } = options;
  const { state } = await prepareFolder(folder, options.opening);
  const file = join(folder, STORE_FILE);
  restrictToOwner(folder);
  const tables = openTables(file, { mapBytes });
  beginEpoch(tables, state);
  for (const _ of convertTidemarks(tables)) await new Promise((resolve) => setImmediate(resolve));
  beginChanges(tables);
  if (state === 'new' || state === 'backup') writeManifest(folder, 'ready');
  tables.root.readerCheck();
  const writer = await Writer.start({ file, mapBytes, readerCheckMs, lowDiskBytes });
  return composeStore(tables, writer, options);
}

/** Gives a new store its first epoch, and a restored backup another one. Of several processes, the first one decides. */
function beginEpoch(tables: Tables, state: Manifest['state']): void {
  if (state !== 'new' && state !== 'backup' && state !== 'incomplete') return;
  tables.root.transactionSync(() => {
    if (tables.meta.get('epoch') === undefined) setEpoch(tables, newId());
    else if (state === 'backup') addEpoch(tables, newId());
  });
}

/** Reads run on the calling thread from memory-mapped pages, writes on the writer thread. */
function composeStore(tables: Tables, writer: Writer, options: EmbeddedOptions): EmbeddedStore {
  const { folder, opening = { as: 'server' }, trimStepMax = TRIM_STEP_MAX } = options;
  // After the writer died, nobody knows what became of its last transaction, so nothing is read.
  const readState = new ReadState(tables, () => writer.closedReason);
  writer.onAnswers(() => readState.refresh());
  const context: EngineContext = {
    read: () => readState.tables(),
    write: <T>(task: Parameters<Writer['run']>[0]) => writer.run(task) as Promise<T>,
  };
  const openedJobs: EmbeddedJobs[] = [];
  let isOpen = true;
  const warnings = permissionWarnings(folder);
  return {
    engine: { name: 'embedded', durability: 'durable', ...(warnings.length > 0 ? { warnings } : {}) },
    ...journal(context, trimStepMax),
    ...fileIndex(context),
    ...documents(context),
    ...entries(context),
    ...tidemarks(context),
    ...acknowledged(context),
    ...notes(context),
    ...stats(context, trimStepMax),
    ...lifecycle(context),
    ...migration(context, folder, opening),
    onFlushed: (listener) => writer.onFlushed(listener),
    export: (reader) => exportTables(context.read(), reader),
    verify: (reader) => verifyTables(context.read(), reader),
    jobs(jobsOptions) {
      const opened = embeddedJobs(context, jobsOptions);
      openedJobs.push(opened);
      return opened.jobs;
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      // Job calls that were gathered and not sent yet are sent before the writer closes.
      for (const { flush } of openedJobs) flush();
      await writer.close();
      await tables.root.close();
    },
  };
}
