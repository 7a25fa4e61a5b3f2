import type { PartitionState } from '../ports/store.ts';
import type { PageStart } from './page-start.ts';
import type { PageBody } from './render-page.ts';
import type { PlainToken } from './token.ts';

/** A page as every device that asked the same may have it. */
export interface BuiltPage {
  readonly token: PlainToken;
  /** The token as text, for devices that were never told to start over. Absent: nobody has needed it so far. */
  readonly tokenText?: string;
  readonly more: boolean;
  /** Objects and tombstones on it. */
  readonly entries: number;
  readonly body: PageBody;
  /** How the presented token was taken. */
  readonly start: PageStart;
  /** What it is a page of. */
  readonly state: PartitionState;
}
