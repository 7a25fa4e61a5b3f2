import { ClientError } from '../client-error.ts';
import type { CommandName } from '../engine/commands.ts';
import type { DeviceEvents } from '../engine/device-listeners.ts';
import type { FilesUnderWay } from '../engine/file-work.ts';
import type { DeviceStatus } from '../engine/status.ts';
import type { LocalRow, LocalWrite } from '../ports/local-store.ts';
import type { User } from '../state/owner.ts';
import type { NewUpload } from '../state/rows.ts';

/** What tabs tell each other. `term` is the time for which one tab leads; `from` and `to` are tabs. */
export type TabMessage =
  /** A tab asks for the state, and whether anybody leads. */
  | { readonly type: 'hello'; readonly from: string }
  | { readonly type: 'ping' }
  /** The answer of the tab that leads, or is about to. */
  | { readonly type: 'pong'; readonly term: string }
  | { readonly type: 'leading'; readonly term: string }
  | {
      readonly type: 'committed';
      readonly term: string;
      readonly seq: number;
      readonly writes: readonly LocalWrite[];
      readonly saved: readonly string[];
    }
  | ({ readonly type: 'status'; readonly term: string } & SharedStatus)
  | {
      readonly type: 'event';
      readonly term: string;
      readonly name: keyof DeviceEvents;
      readonly data: DeviceEvents[keyof DeviceEvents];
    }
  | { readonly type: 'write'; readonly uploads: readonly NewUpload[]; readonly writer: User }
  | { readonly type: 'saved'; readonly opIds: readonly string[] }
  | { readonly type: 'refused'; readonly opIds: readonly string[]; readonly error: SentError }
  | {
      readonly type: 'run';
      readonly from: string;
      readonly id: number;
      readonly name: CommandName;
      readonly args: readonly unknown[];
    }
  | {
      readonly type: 'result';
      readonly to: string;
      readonly id: number;
      readonly value?: unknown;
      readonly error?: SentError;
    };

/** What the tab that leads sends to one tab that asked, in parts. */
export type SnapshotMessage =
  | { readonly type: 'rows'; readonly term: string; readonly number: number; readonly rows: readonly LocalRow[] }
  | ({
      readonly type: 'snapshot';
      readonly term: string;
      /** Several answers may be on their way; each has a number. */
      readonly number: number;
      /** The last commit that the state includes. */
      readonly seq: number;
      /** The rows in all parts of the state. */
      readonly rowCount: number;
    } & SharedStatus);

export interface SharedStatus {
  readonly status: DeviceStatus;
  readonly inFlight: readonly string[];
  readonly isKeptOffline: boolean;
  /** What is under way with files. A tab with an earlier version of the app does not say. */
  readonly files?: FilesUnderWay;
}

/** An error without its class, which does not survive the way to another tab. */
export interface SentError {
  readonly code: string;
  readonly detail: string;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
}

export function sentError(error: unknown): SentError {
  if (!(error instanceof ClientError)) {
    return { code: 'store_failed', detail: String(error), status: null, retryAfterMs: null };
  }
  const { code, message, status, retryAfterMs } = error;
  return { code, detail: message, status, retryAfterMs };
}

export function receivedError({ code, detail, status, retryAfterMs }: SentError): ClientError {
  return new ClientError(code, detail, { ...(status === null ? {} : { status }), retryAfterMs });
}
