import type { ModelPartition } from '../model/partition.ts';
import type { ObjectsGiven, Write } from '../model/write.ts';
import type { History } from '../runner/simulation.ts';

/** A history of devices that pull, and of everything that happens to the data meanwhile. */
export interface SyncHistory extends History<Step> {
  readonly devices: readonly DeviceSpec[];
  /** The page sizes with which the devices catch up at the end, one per device. */
  readonly lastPages: readonly number[];
}

export interface DeviceSpec {
  readonly client: string;
  readonly source: string;
  readonly user: string;
}

/** A write in a history. Some of its content is filled in from md when the write is performed. */
export type PlannedWrite =
  | Exclude<Write, { kind: 'replace' | 'fast_delete' | 'fast_update' }>
  | (Extract<Write, { kind: 'fast_delete' | 'fast_update' }> & {
      /** For these ids, the attributes to remove are those that md holds. */
      readonly asStored: readonly string[];
    })
  | {
      readonly kind: 'replace';
      readonly partition: ModelPartition;
      /** Chooses one of the open queries; null: md is set directly. */
      readonly query: number | null;
      /** The answer is md as it was when the query began, without these objects … */
      readonly without: readonly string[];
      /** … and with these added or replaced. */
      readonly objects: ObjectsGiven;
    };

export type Delivery = 'arrives' | 'lost' | 'doubled';

export interface PageSize {
  readonly objectsMax: number;
  readonly unitsMax?: number;
}

export type TokenDamage =
  | { readonly kind: 'flip'; readonly at: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'extend'; readonly text: string }
  | { readonly kind: 'garbage'; readonly text: string }
  | { readonly kind: 'foreign'; readonly pick: number };

/** `delaySeed` decides how long each call of the store takes during the step. */
export type Step = Action & { readonly delaySeed: number };

export type Action =
  | { readonly kind: 'write'; readonly write: PlannedWrite }
  | {
      readonly kind: 'concurrent';
      readonly writes: readonly PlannedWrite[];
      readonly pulls: readonly ({ readonly device: number } & PageSize)[];
      /** Part of the journal, 0 to 1, that is trimmed at the same time; null: none. */
      readonly trim: number | null;
    }
  | { readonly kind: 'bad_write'; readonly write: Extract<PlannedWrite, { kind: 'push_objects' }> }
  | { readonly kind: 'begin_query'; readonly partition: ModelPartition }
  | {
      readonly kind: 'recreate_user';
      readonly user: string;
      readonly racing: readonly PlannedWrite[];
      /** Writes for the new user right after it was created; the racing writes may still be running. */
      readonly first: readonly PlannedWrite[];
      /** Devices that pull at the same time; their answers are lost. */
      readonly pulls: readonly number[];
      /** True: the new user's devices are registered after all of this. Whoever pulls meanwhile is the old user's. */
      readonly registersLater?: true;
    }
  | { readonly kind: 'reset_store'; readonly racing: readonly PlannedWrite[]; readonly pulls: readonly number[] }
  | { readonly kind: 'trim'; readonly partition: ModelPartition; readonly retentionMs: number }
  | { readonly kind: 'force_trim'; readonly partition: ModelPartition; readonly part: number }
  /** The tidemarks of a partition become those of another epoch, as they are after a backup was restored. */
  | { readonly kind: 'outdate_tidemarks'; readonly partition: ModelPartition }
  /** The present state is the one that the next `fall_back` returns to. */
  | { readonly kind: 'keep_state' }
  /** The store loses all writes since then, and begins a new epoch. */
  | { readonly kind: 'fall_back' }
  /** A negative number sets the clock back. */
  | { readonly kind: 'time_passes'; readonly ms: number }
  | { readonly kind: 'pull'; readonly device: number; readonly sizes: readonly PageSize[] }
  /** The sources of one client, in one call. */
  | { readonly kind: 'pull_together'; readonly devices: readonly number[]; readonly sizes: readonly PageSize[] }
  | { readonly kind: 'send'; readonly device: number; readonly size: PageSize; readonly delivery: Delivery }
  | { readonly kind: 'serve'; readonly device: number; readonly pick: number; readonly delivery: Delivery }
  | { readonly kind: 'deliver'; readonly device: number; readonly pick: number }
  | { readonly kind: 'forget_device'; readonly device: number }
  | { readonly kind: 'reinstall'; readonly device: number }
  | { readonly kind: 'start_over'; readonly device: number }
  | { readonly kind: 'keep_copy'; readonly device: number }
  | { readonly kind: 'restore_copy'; readonly device: number; readonly pick: number }
  | { readonly kind: 'clone'; readonly device: number; readonly from: number }
  | { readonly kind: 'damage_token'; readonly device: number; readonly damage: TokenDamage };
