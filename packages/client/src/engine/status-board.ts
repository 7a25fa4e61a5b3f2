import type { ClientError } from '../client-error.ts';
import type { MachineState } from '../machine/machine.ts';
import type { DeviceData } from './device-data.ts';
import type { LazyNetwork } from './lazy-network.ts';
import type { Sessions } from './sessions.ts';
import { type DeviceStatus, sameStatus } from './status.ts';

interface StatusParts {
  readonly data: DeviceData;
  readonly sessions: Sessions;
  readonly network: LazyNetwork;
  readonly tab: DeviceStatus['tab'];
  readonly machine: () => MachineState;
}

/** What the device tells of itself: the status, with what its last attempts came to. */
export class StatusBoard {
  readonly #parts: StatusParts;
  #status: DeviceStatus;
  #error: DeviceStatus['error'] = null;
  /** The error then stays: a pull without changes succeeds without the store. */
  #isStoreLost = false;
  #isLive = false;
  #retryAtMs: number | null = null;
  #syncedAtMs: number | null;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    this.#syncedAtMs = this.#lastCompleteMs();
    this.#status = this.#compute();
  }

  get status(): DeviceStatus {
    return this.#status;
  }

  /** To be called when something may have changed. */
  refresh(): void {
    const status = this.#compute();
    if (sameStatus(status, this.#status)) return;
    this.#status = status;
    this.#parts.data.listeners.status.notify();
  }

  noteError({ code, detail, status }: ClientError): void {
    this.#error = { code, detail, status, atMs: this.#parts.data.platform.nowMs() };
  }

  noteStoreLost(): void {
    this.#isStoreLost = true;
  }

  clearError(): void {
    if (!this.#isStoreLost) this.#error = null;
  }

  noteRetry(atMs: number | null): void {
    this.#retryAtMs = atMs;
  }

  noteLive(isLive: boolean): void {
    this.#isLive = isLive;
    this.refresh();
  }

  /** To be called when the device has taken over something of the server. */
  noteSynced(): void {
    const { network, data } = this.#parts;
    if (network.current?.puller.isUpToDate) this.#syncedAtMs = data.platform.nowMs();
  }

  /** Nobody is signed in any more. */
  forget(): void {
    this.clearError();
    this.#syncedAtMs = null;
    this.refresh();
  }

  #compute(): DeviceStatus {
    const { data, sessions, network, tab, machine } = this.#parts;
    const { mode, isOnline } = machine();
    const { reader, views } = data.replica;
    const { progress = null, troubles } = network.current?.puller ?? {};
    const owner = sessions.owner();
    let heals = 0;
    for (const [, row] of reader.entries('sources', '')) heals += row.heals;
    const problems = reader.count('problems', '');
    return Object.freeze({
      mode,
      userId: mode === 'signed_out' ? null : (owner?.userId ?? null),
      clientId: owner?.clientId ?? null,
      isOnline,
      isLive: this.#isLive,
      isSyncing: mode === 'pushing' || mode === 'pulling',
      problems,
      progress,
      lastSyncedAtMs: this.#syncedAtMs,
      sessionEnd: sessions.lastEnd(),
      error: this.#error,
      retryAtMs: this.#retryAtMs,
      sourceTroubles: new Map(troubles),
      heals,
      tab,
      pendingUploads: views.uploadsOpen,
      isLoading: data.replica.loaded !== null,
    });
  }

  /** After a restart it is derived from the stored state. */
  #lastCompleteMs(): number | null {
    const rows = [...this.#parts.data.replica.reader.entries('sources', '')];
    const known = rows.flatMap(([, { syncedAtMs }]) => syncedAtMs ?? []);
    return known.length === 0 ? null : Math.max(...known);
  }
}
