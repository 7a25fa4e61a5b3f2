import {
  HISTORY_FAILURES_OF_ONE_PER_MIN_MAX,
  HISTORY_FAILURES_PER_MIN_MAX,
  HISTORY_SAMPLES_PER_MIN_MAX,
  HISTORY_STRANGERS_PER_MIN_MAX,
} from '../limits.ts';
import type { ActivityFact } from './activity-filter.ts';

const MINUTE_MS = 60_000;

/** `known`: refusals, failures and pings of somebody known. `stranger`: of nobody known. `sample`: what succeeded. */
type EventClass = 'known' | 'stranger' | 'sample';

const MAX: Readonly<Record<EventClass, number>> = {
  known: HISTORY_FAILURES_PER_MIN_MAX,
  stranger: HISTORY_STRANGERS_PER_MIN_MAX,
  sample: HISTORY_SAMPLES_PER_MIN_MAX,
};

/** Whether the event says that something went wrong. */
export function isFailure(fact: ActivityFact): boolean {
  switch (fact.kind) {
    case 'refusal':
    case 'backend':
      return true;
    case 'upload':
      return fact.status === 'rejected' || fact.status === 'conflict';
    case 'ping':
      return fact.status === 'failed' || fact.status === 'gone' || fact.status === 'retired';
    case 'refresh':
    case 'login':
      return fact.code !== null;
    case 'push':
    case 'pull':
      return false;
  }
}

function classOf(fact: ActivityFact): EventClass {
  const isStranger = fact.kind === 'login' || (fact.kind === 'refusal' && fact.user_id === null);
  if (isFailure(fact)) return isStranger ? 'stranger' : 'known';
  return fact.kind === 'ping' ? 'known' : 'sample';
}

/**
 * Decides which events of a minute the history of one server keeps. Everything is bounded, and strangers, samples and each
 * device have bounds of their own: none of them pushes out the failures of the others.
 */
export class HistoryBudget {
  #minute = Number.NEGATIVE_INFINITY;
  #used: Record<EventClass, number> = { known: 0, stranger: 0, sample: 0 };
  readonly #usedBy = new Map<string, number>();

  /** Whether an event about a success would be kept now. */
  hasSampleLeft(nowMs: number): boolean {
    this.#advance(nowMs);
    return this.#used.sample < MAX.sample;
  }

  take(fact: ActivityFact, nowMs: number): boolean {
    this.#advance(nowMs);
    const kind = classOf(fact);
    if (this.#used[kind] >= MAX[kind]) return false;
    if (kind === 'known') {
      const whose = fact.client_id ?? fact.user_id ?? '';
      const used = this.#usedBy.get(whose) ?? 0;
      if (used >= HISTORY_FAILURES_OF_ONE_PER_MIN_MAX) return false;
      this.#usedBy.set(whose, used + 1);
    }
    this.#used[kind]++;
    return true;
  }

  #advance(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#used = { known: 0, stranger: 0, sample: 0 };
    this.#usedBy.clear();
  }
}
