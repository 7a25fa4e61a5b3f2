import { INTERVAL_S_MAX, pointer, Refusal } from '@tidemark/protocol';
import type { WriteAdmission } from '../admission/admit-write.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { EntryWrite, PartitionKey, Store } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import { readRefreshTime, refreshTimeText } from './refresh-time.ts';

export interface RefreshTimesPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly admission: WriteAdmission;
}

/** The times at which partitions are due for a refresh, whatever their source says. */
export class RefreshTimes {
  readonly #ports: RefreshTimesPorts;

  constructor(ports: RefreshTimesPorts) {
    this.#ports = ports;
  }

  /** Sets when the partition is due: `refreshTimeS` seconds from now, or at its next sync when absent. */
  async set(source: unknown, userId: unknown, refreshTimeS?: unknown): Promise<{ readonly refresh_at: string }> {
    const delayS = admitRefreshTime(refreshTimeS);
    const { partition, guards, user } = await this.#ports.admission.partition({ source, user_id: userId });
    const nowMs = this.#ports.clock.nowMs();
    const atMs = nowMs + delayS * 1_000;
    const writes: EntryWrite[] = [
      { ...refs.refreshAt(partition), value: refreshTimeText(atMs, nowMs) },
      ownerTouched('source', partition.source),
      ...(user === null ? [] : [ownerTouched('user', user)]),
    ];
    const result = await this.#ports.store.writeEntries({ writes, guards });
    if (result.status === 'gone') throw refuseGone(result.guard);
    return { refresh_at: isoTime(atMs) };
  }

  /** Returns null when no time is set. */
  async atMs(partition: PartitionKey): Promise<number | null> {
    const entry = await this.#ports.store.readEntry(refs.refreshAt(partition));
    return entry === null ? null : readRefreshTime(entry.value, this.#ports.clock.nowMs());
  }
}

function admitRefreshTime(refreshTimeS: unknown): number {
  if (refreshTimeS === undefined || refreshTimeS === null) return 0;
  const at = pointer('refresh_time');
  const detail = `must be a whole number of seconds from 0 to ${INTERVAL_S_MAX}`;
  if (typeof refreshTimeS !== 'number') {
    throw new Refusal('invalid_request', `refresh_time ${detail}`, [{ pointer: at, detail }]);
  }
  if (Number.isInteger(refreshTimeS) && refreshTimeS >= 0 && refreshTimeS <= INTERVAL_S_MAX) return refreshTimeS;
  throw new Refusal('invalid_value', `refresh_time ${detail}`, [{ pointer: at, detail }]);
}
