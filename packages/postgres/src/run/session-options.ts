import type { Arrival, Lsn } from '../replication/message.ts';

/** The stream of a replication slot, as a session uses it. */
export interface SessionStream extends AsyncIterable<Arrival> {
  readonly bufferedBytes: number;
  acknowledge(lsn: Lsn): void;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Distinguishes the marks of this run from those of earlier ones. */
  readonly runId: string;
  /** A batch is applied when it has so many rows or bytes, within a transaction only when these are its own. */
  readonly batchRowsMax: number;
  readonly batchBytesMax: number;
  /** Where the stream begins. */
  readonly position: Lsn;
  readonly recentXids: readonly number[];
  readonly nowMs: () => number;
  /** Waits until what the socket has is read. */
  readonly turn: () => Promise<void>;
  /** Waits before a chunk is read again. */
  readonly pause: () => Promise<void>;
  readonly onLag: (lagMs: number) => void;
  readonly onRows: (rows: number) => void;
  /** Stores the position, then it is acknowledged. */
  readonly store: (position: Lsn, recentXids: readonly number[]) => Promise<void>;
}
