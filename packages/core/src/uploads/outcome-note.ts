import { type JsonValue, type Outcome, type OutcomeStatus, type PartialError, parseJson } from '@tidemark/protocol';
import { objectText } from '../journal/json-text.ts';
import { readRecord } from '../journal/record.ts';
import type { Note, StoredObject } from '../ports/store.ts';

/** What is remembered of an outcome. The object itself is not: who is told again is told how it is by then. */
export interface KeptOutcome {
  readonly status: OutcomeStatus;
  readonly id: string;
  readonly error?: PartialError;
  /** The id under which a queued upload keeps its order, when that is another one. */
  readonly origin?: string;
  /** The job that set the upload aside, because the backend was asked so often in vain. Once revived, it tries again. */
  readonly setAsideBy?: string;
}

export function outcomeText({ status, id, error, origin, setAsideBy }: KeptOutcome): string {
  return JSON.stringify({ status, id, error, origin, setAsideBy });
}

export function readOutcome({ text }: Note): KeptOutcome {
  return parseJson(text) as KeptOutcome;
}

/** Whether the device is told how the object is, to show it or to go back to it. */
export function tellsCurrent({ status }: KeptOutcome): boolean {
  return status === 'rejected' || status === 'conflict';
}

export function outcomeOf(opId: string, source: string, kept: KeptOutcome, stored: StoredObject | undefined): Outcome {
  const { status, id, error } = kept;
  return {
    op_id: opId,
    source,
    status,
    id,
    ...(error === undefined ? {} : { error }),
    ...(tellsCurrent(kept) ? { current: currentOf(stored) } : {}),
  };
}

function currentOf(stored: StoredObject | undefined): Record<string, JsonValue> | null {
  if (stored === undefined || stored.record === null) return null;
  return parseJson(objectText(readRecord(stored.record, stored.seq).attributes)) as Record<string, JsonValue>;
}
