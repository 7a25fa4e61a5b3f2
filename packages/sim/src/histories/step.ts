import type { JsonValue } from '@tidemark/protocol';
import type { Place } from './place.ts';

/**
 * A history is data: everything that will be tried, decided in advance from the seed. Where a step depends on what
 * will be there when it runs (which answer arrives, how much is trimmed), it carries a number that chooses among
 * whatever there is. So any step can be taken out and the rest still means something, which is what shrinking needs.
 */
export interface History {
  readonly seed: number;
  readonly devices: readonly DeviceSpec[];
  readonly steps: readonly Step[];
  /** The page sizes with which the devices catch up at the end, one per device. */
  readonly lastPages: readonly number[];
}

export interface DeviceSpec {
  readonly client: string;
  readonly source: string;
  readonly user: string;
}

export type Attributes = Readonly<Record<string, JsonValue>>;
export type ObjectsGiven = Readonly<Record<string, Attributes>>;

/** A write as it is handed to the subject and to the oracle. */
export type Write =
  | { readonly kind: 'push_objects'; readonly place: Place; readonly objects: ObjectsGiven }
  | { readonly kind: 'push_deletes'; readonly place: Place; readonly ids: readonly string[] }
  | { readonly kind: 'fast_insert'; readonly place: Place; readonly objects: ObjectsGiven }
  | {
      readonly kind: 'fast_update';
      readonly place: Place;
      readonly deleteData: ObjectsGiven;
      readonly data: ObjectsGiven;
    }
  | { readonly kind: 'fast_delete'; readonly place: Place; readonly data: ObjectsGiven }
  | { readonly kind: 'replace'; readonly place: Place; readonly objects: ObjectsGiven; readonly query: Query | null };

/** A query on its way to the backend; null instead of one: an administrator sets md outright. */
export interface Query {
  /** What the subject said when the query began; handed back to it unread. */
  readonly since: unknown;
  /** The oracle's time when the query began. */
  readonly time: number;
}

/** A write in a history: some of its content is filled in from what md holds when it is made. */
export type PlannedWrite =
  | Exclude<Write, { kind: 'replace' | 'fast_delete' | 'fast_update' }>
  | (Extract<Write, { kind: 'fast_delete' | 'fast_update' }> & {
      /** For these ids, the attributes to remove are those stored: the caller who gets it right. */
      readonly asStored: readonly string[];
    })
  | {
      readonly kind: 'replace';
      readonly place: Place;
      /** Chooses one of the queries under way; null: set outright. */
      readonly query: number | null;
      /** The answer is what md was when the query began, without these … */
      readonly without: readonly string[];
      /** … and with these instead. */
      readonly objects: ObjectsGiven;
    };

export type RequestFate = 'arrives' | 'lost' | 'doubled';

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

/** `weather` decides how promptly the store answers during the step, where that can be decided. */
export type Step = Deed & { readonly weather: number };

export type Deed =
  | { readonly kind: 'write'; readonly write: PlannedWrite }
  | {
      readonly kind: 'together';
      readonly writes: readonly PlannedWrite[];
      readonly pulls: readonly ({ readonly device: number } & PageSize)[];
      /** Part of the journal, 0 to 1, that is trimmed meanwhile; null: none. */
      readonly trim: number | null;
    }
  | { readonly kind: 'bad_write'; readonly write: Extract<PlannedWrite, { kind: 'push_objects' }> }
  | { readonly kind: 'begin_query'; readonly place: Place }
  | {
      readonly kind: 'recreate_user';
      readonly user: string;
      readonly racing: readonly PlannedWrite[];
      /** Written by the new user's life as soon as it has begun; the racing writes may still be under way. */
      readonly first: readonly PlannedWrite[];
      /** Devices that pull meanwhile; their answers are lost. */
      readonly pulls: readonly number[];
    }
  | { readonly kind: 'reset_store'; readonly racing: readonly PlannedWrite[]; readonly pulls: readonly number[] }
  | { readonly kind: 'trim'; readonly place: Place; readonly retentionMs: number }
  | { readonly kind: 'brutal_trim'; readonly place: Place; readonly part: number }
  /** Below zero: the clock is set back. */
  | { readonly kind: 'time_passes'; readonly ms: number }
  | { readonly kind: 'pull'; readonly device: number; readonly sizes: readonly PageSize[] }
  | { readonly kind: 'send'; readonly device: number; readonly size: PageSize; readonly fate: RequestFate }
  | { readonly kind: 'serve'; readonly device: number; readonly pick: number; readonly fate: RequestFate }
  | { readonly kind: 'deliver'; readonly device: number; readonly pick: number }
  | { readonly kind: 'forget_device'; readonly device: number }
  | { readonly kind: 'reinstall'; readonly device: number }
  | { readonly kind: 'start_over'; readonly device: number }
  | { readonly kind: 'keep_copy'; readonly device: number }
  | { readonly kind: 'restore_copy'; readonly device: number; readonly pick: number }
  | { readonly kind: 'clone'; readonly device: number; readonly from: number }
  | { readonly kind: 'damage_token'; readonly device: number; readonly damage: TokenDamage };
