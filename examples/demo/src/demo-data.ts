import type { TidemarkClient } from '@tidemark/backend';
import type { Row } from '@tidemark/example-field-service';

/** Where the work orders of the demo come from: a backend, or a database that Tidemark connects itself. */
export interface DemoData {
  /** The settings that Tidemark needs for it. */
  readonly settings: Readonly<Record<string, string>>;
  /** A line for the terminal that changes a row behind the back of everybody; null: there is none. */
  readonly command: string | null;
  /** Resolves when Tidemark has everything that devices need to sign in. */
  connect(tidemark: TidemarkClient): Promise<ConnectedData>;
  close(): Promise<void>;
}

export interface ConnectedData {
  /** What listens beside Tidemark, for the terminal. */
  readonly about: string;
  /** The work orders as they are there. */
  orders(): Promise<readonly Row[]>;
  /** Tells a server that was killed and started again what it has missed. */
  resume(): void;
  /** Called while Tidemark is still running. */
  close(): Promise<void>;
}

/** The columns of a work order that the page compares with what devices show. */
export const COMPARED = 'id, technician, title, status, priority, notes, hours';
