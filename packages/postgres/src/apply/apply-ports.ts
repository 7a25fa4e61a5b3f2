import type { TidemarkClient } from '@tidemark/backend';
import type { Assignments } from './assignments.ts';
import type { ToJson } from './attributes.ts';
import type { Problems } from './problems.ts';
import type { RowsUnderWay } from './rows-under-way.ts';
import type { WaitingRows } from './waiting-rows.ts';

/** What applying changes needs. */
export interface ApplyPorts {
  readonly client: TidemarkClient;
  readonly toJson: ToJson;
  readonly problems: Problems;
  readonly waiting: WaitingRows;
  readonly underWay: RowsUnderWay;
  /** The assignments of the rows of a table, by its label. */
  readonly assignmentsOf: (label: string) => Assignments;
}

/** How changes are applied. */
export interface ApplyTerms {
  /** True: the rows were read whole from the table, so that attributes that they do not have are removed. */
  readonly isCopy: boolean;
  /** True: a row that is not known yet will be copied, so that a part of it need not be read. */
  readonly isUncopied: boolean;
  /**
   * Called with the ids of rows that belong to somebody else from now on, or to nobody, before this is noted: their children have to
   * follow. After a kill nothing else tells that they have moved.
   */
  readonly onMoved: (ids: readonly string[]) => Promise<void>;
}

export interface Applied {
  /** Ids of rows that have to be read by their keys. */
  readonly toRead: readonly string[];
}
