import type { Attributes } from '../state/rows.ts';
import type { SyncedObject } from '../view/source-view.ts';

/** An object as it is stored, before and after a commit. */
export interface StoredChange {
  readonly id: string;
  readonly before: Attributes | undefined;
  readonly after: Attributes | undefined;
  /** As the app sees it without the changes made here. */
  readonly object: SyncedObject | undefined;
}

/** An object with changes made here. */
export interface ChangedHere {
  readonly id: string;
  /** Without the changes. */
  readonly stored: Attributes | undefined;
  readonly object: SyncedObject | undefined;
}
