import type { TidemarkClient } from '@tidemark/backend';
import type { Assignments } from './assignments.ts';
import type { ToJson } from './attributes.ts';
import type { Problems } from './problems.ts';
import type { WaitingRows } from './waiting-rows.ts';

/** What applying changes needs. */
export interface ApplyPorts {
  readonly client: TidemarkClient;
  readonly toJson: ToJson;
  readonly problems: Problems;
  readonly waiting: WaitingRows;
  /** The assignments of the rows of a table, by its label. */
  readonly assignmentsOf: (label: string) => Assignments;
}

/** How changes are applied. */
export interface ApplyTerms {
  /** True: the rows were read whole from the table, so that attributes that they do not have are removed. */
  readonly isCopy: boolean;
  /** True: a row that is not known yet will be copied, so that a part of it need not be read. */
  readonly isUncopied: boolean;
}

export interface Applied {
  /** Ids of rows that have to be read by their keys. */
  readonly toRead: readonly string[];
  /** Ids of rows that belong to somebody else now, or to nobody: their children have to follow. */
  readonly moved: readonly string[];
  /** Users who were created again, so that they have none of the rows and groups that they had. */
  readonly returned?: readonly string[];
}
