import type { CommitOptions, DiskPart, LocalRow, LocalStore } from '@tidemark/client';
import { openSqliteStore, wasmSqlite } from '@tidemark/sqlite';
import sqlite from 'node-sqlite3-wasm';

/** The process in which a device runs. */
export interface MortalProcess {
  readonly isDead: boolean;
}

/** Where bugs can be planted in a store with sources on the disk. */
export interface DiskPlant {
  readonly found?: (rows: readonly LocalRow[]) => readonly LocalRow[];
  readonly disk?: (disk: DiskPart) => DiskPart;
  readonly committed?: (options: CommitOptions) => CommitOptions;
}

/** What one device has stored in SQLite, with its sources on the disk. It survives its processes. */
export class DiskFiles {
  readonly #kept: Promise<LocalStore> = openSqliteStore(wasmSqlite(new sqlite.Database(':memory:')));
  readonly #plant: DiskPlant;

  constructor(plant: DiskPlant) {
    this.#plant = plant;
  }

  open(process: MortalProcess): LocalStore {
    const { found = (rows) => rows, disk: planted = (disk) => disk, committed = (options) => options } = this.#plant;
    const work = async <T>(call: (store: LocalStore) => Promise<T>): Promise<T> => {
      const result = process.isDead ? await never() : await call(await this.#kept);
      // A process that was killed meanwhile does not hear of it.
      return process.isDead ? never() : result;
    };
    const read = <T>(call: (disk: DiskPart) => Promise<T>) => work((store) => call(diskOf(store)));
    return {
      load: async () => found(await work((store) => store.load())),
      commit: (writes, options = {}) => work((store) => store.commit(writes, committed(options))),
      close: async () => undefined,
      disk: planted({
        load: async (choose) => found(await read((disk) => disk.load(choose))),
        read: (keys) => read((disk) => disk.read(keys)),
        scan: (scan) => read((disk) => disk.scan(scan)),
        count: (scan, max) => read((disk) => disk.count(scan, max)),
        measure: (first) => read((disk) => disk.measure(first)),
        addIndex: (source, path) => read((disk) => disk.addIndex(source, path)),
      }),
    };
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function diskOf({ disk }: LocalStore): DiskPart {
  if (disk === undefined) throw new Error('a SQLite store has a disk part');
  return disk;
}
