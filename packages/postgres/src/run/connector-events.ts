import type { RowProblem } from '../apply/problems.ts';
import type { TablePhase, TableState } from '../state/connector-state.ts';
import type { HealReason } from './start-reason.ts';

/** How far the copy of a table is. */
export interface TableProgress {
  readonly table: string;
  readonly phase: TablePhase['name'];
  /** Rows that were copied. */
  readonly rows: number;
  /** About how many the table has; 0: not known. */
  readonly estimate: number;
  readonly rowsPerS: number;
}

/** What a connector reports, for terminals, logs, metrics and screens. */
export interface ConnectorEvents {
  /** `streaming`: connected; `waiting`: the last attempt failed with `error`. */
  onState?(state: 'connecting' | 'streaming' | 'waiting' | 'stopped', error?: Error): void;
  /** Changes may have been missed, so that all tables are compared. */
  onHeal?(reason: HealReason): void;
  /** Connected: the tables, and where each stands. */
  onTables?(tables: Readonly<Record<string, TableState>>): void;
  onProgress?(progress: TableProgress): void;
  /** A heartbeat is written into the log now. */
  onBeat?(sentAtMs: number): void;
  /** How long ago the last heartbeat that has arrived was written. Not called while tables are compared: what was missed may not be here. */
  onLag?(lagMs: number): void;
  /** Everything up to the position is durable in Tidemark. */
  onPosition?(position: string): void;
  /** So many more rows were applied. */
  onRows?(rows: number): void;
  onProblem?(problem: RowProblem): void;
}
