import { asClientError, clientError } from '../client-error.ts';
import type { LocalRow, LocalStore, LocalWrite } from '../ports/local-store.ts';
import { frozen } from '../state/frozen.ts';
import { inSteps, type Pause, sortInSteps } from '../state/in-steps.ts';
import { LAST_RESULTS, type LastResults } from '../state/last-results.ts';
import { LocalState } from '../state/local-state.ts';
import type { Attributes } from '../state/rows.ts';
import type { Replica } from './replica.ts';

const REPLACED = 'the database was damaged, and another one has taken its place: open the device again';

/** What a device begins with. */
export interface EarlyState {
  readonly state: LocalState;
  /** To be called once a replica has the state: adds the other objects as they are loaded. */
  readonly fill: (replica: Replica) => void;
}

/**
 * Loads a store. Resolves with the last results of queries, if the store has any and reads them before all objects;
 * otherwise with everything.
 */
export function loadEarly(store: Pick<LocalStore, 'load'>, pause: Pause): Promise<EarlyState> {
  return new Promise((resolve, reject) => {
    let isEarly = false;
    const loading = store.load((rows) => {
      // What is shown belongs to the database that was.
      if (isEarly) throw clientError('store_damaged', REPLACED);
      const shown = lastResultsIn(rows);
      if (shown.length === 0) return;
      isEarly = true;
      const fill = (replica: Replica) => void fillReplica(replica, { shown, loading, pause });
      resolve({ state: new LocalState([...rows, ...shown]), fill });
    });
    const finish = async () => {
      const rows = await loading;
      if (!isEarly) resolve({ state: await LocalState.load(rows, pause), fill: () => undefined });
    };
    finish().catch(reject);
  });
}

interface Filling {
  /** Objects that the replica has already. Those that are not stored any more are removed at the end. */
  readonly shown: readonly LocalRow[];
  readonly loading: Promise<readonly LocalRow[]>;
  readonly pause: Pause;
}

async function fillReplica(replica: Replica, { shown, loading, pause }: Filling): Promise<void> {
  const { isAwaited, fail } = replica.beginLoading();
  const gone = new Map(shown.map((row) => [JSON.stringify(row.key), row]));
  try {
    const stored = (await loading).filter(({ table }) => table === 'objects');
    await pause();
    const rows = await sortInSteps(stored, pause, ({ key: left }, { key: right }) => (left[1] < right[1] ? -1 : 1));
    const add = (from: number, to: number) => {
      const step = rows.slice(from, to);
      if (gone.size > 0) for (const { key } of step) gone.delete(JSON.stringify(key));
      replica.addLoaded(step.filter(({ key }) => !replica.reader.isOnDisk(key[0])).map(frozenRow));
    };
    await inSteps(rows.length, pause, add, isAwaited);
    if (!isAwaited()) return;
    replica.addLoaded([...gone.values()].map(withoutValue));
    replica.endLoading();
  } catch (error) {
    fail(asClientError(error, 'store_failed'));
  }
}

function lastResultsIn(rows: readonly LocalRow[]): readonly LocalRow[] {
  const isFact = ({ table, key }: LocalRow) => table === 'facts' && key[1] === LAST_RESULTS[1];
  const results = (rows.find(isFact)?.value ?? []) as unknown as LastResults;
  return results.map(([first, id, value]) => ({ table: 'objects', key: [first, id], value }));
}

function frozenRow({ table, key, value }: LocalRow): LocalRow {
  return { table, key, value: frozen(value as Attributes) };
}

function withoutValue({ table, key }: LocalRow): LocalWrite {
  return { table, key };
}
