import { pointer } from '@tidemark/protocol';
import { tokenRemovals, tokensOf } from '../accounts/token-record.ts';
import { admitName } from '../admission/admit-name.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { ownerUnchanged, readOwnerVersion } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Entry, EntryWrite, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { type ClientRecord, readClientRecord, writeClientRecord } from './client-record.ts';
import { type ClientView, clientNotFound, clientViewOf, clientWiped } from './client-view.ts';
import { confirmedRecord, orderedRecord, type WipeView, wipeViewOf } from './wipe-order.ts';

export interface WipeOrdersPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** Called before a device is recorded as erased: what it had acknowledged does not count from then on. */
  readonly onErased?: (id: string) => Promise<void>;
  /** Returns the entry of a device, or refuses when it does not belong to the user. */
  readonly own: (login: string, id: string) => Promise<Entry>;
  /** Returns false when the entry was changed or deleted meanwhile. */
  readonly write: (id: string, entry: Entry, record: ClientRecord) => Promise<boolean>;
}

/** The orders of administrators that devices erase themselves. */
export class WipeOrders {
  readonly #ports: WipeOrdersPorts;

  constructor(ports: WipeOrdersPorts) {
    this.#ports = ports;
  }

  /** Whether the device has been ordered to erase itself, and has not confirmed. */
  async isPending(id: string): Promise<boolean> {
    const entry = await this.#ports.store.readEntry(refs.client(id));
    const wipe = entry === null ? undefined : readClientRecord(entry.value).wipe;
    return wipe !== undefined && wipe.confirmedAtMs === null;
  }

  /** Refuses while the device has been ordered to erase itself and has not confirmed: only its token lets it know. */
  async requireNonePending(id: string): Promise<void> {
    if (await this.isPending(id)) throw clientWiped(id);
  }

  /** Orders the device to erase itself. An order that was given before stays as it is. */
  async order(id: unknown, orderedBy: string): Promise<ClientView> {
    const name = admitName('client', id, pointer('client_id'));
    return retryOnConflict(async () => {
      const entry = await this.#ports.store.readEntry(refs.client(name));
      if (entry === null) throw clientNotFound(name);
      const old = readClientRecord(entry.value);
      const record = orderedRecord(old, orderedBy, this.#ports.clock.nowMs());
      return record === old || (await this.#ports.write(name, entry, record)) ? clientViewOf(name, record) : null;
    });
  }

  /** Records that the device has erased its data, and revokes its tokens in the same step. */
  async confirm(login: string, id: string, unsentUploads: number): Promise<WipeView> {
    return retryOnConflict(async () => {
      const owner = await readOwnerVersion(this.#ports.store, 'client', id);
      const entry = await this.#ports.own(login, id);
      const record = confirmedRecord(readClientRecord(entry.value), unsentUploads, this.#ports.clock.nowMs());
      await this.#ports.onErased?.(id);
      const tokens = (await tokensOf(this.#ports.store, login)).filter(({ client }) => client === id);
      const writes: EntryWrite[] = [
        { ...refs.client(id), value: writeClientRecord(record), expect: entry.version },
        ownerUnchanged(owner),
        ...tokenRemovals(login, tokens),
      ];
      const result = await this.#ports.store.writeEntries({ writes, guards: [refs.user(login)] });
      if (result.status === 'gone') throw refuseGone(result.guard);
      return result.status === 'written' ? wipeViewOf(record.wipe) : null;
    });
  }
}
