import { type Outcome, UPLOADS_PER_PUSH_MAX, type Upload } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import type { Transaction } from '../state/local-state.ts';
import { readPush } from '../transport/read-answer.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { type Acknowledgements, acknowledgedMember, acknowledgementsToSend, dropSent } from '../uploads/acknowledge.ts';
import { awaitsSchema, nextChunk } from '../uploads/next-chunk.ts';
import { randomId } from '../uploads/random-id.ts';
import { type OutcomeEffects, settleOutcome } from '../uploads/settle-outcome.ts';
import type { DeviceData } from './device-data.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

export interface PusherHooks {
  onOutcomes(outcomeEffects: readonly OutcomeEffects[]): void;
  onInFlight(): void;
  /** Reads the list of sources if it may be outdated. */
  readSources(scope: WorkScope): Promise<void>;
}

/** Statuses that mean that the content is wrong and must not be sent again. */
const WRONG_CONTENT_STATUSES: ReadonlySet<number | null> = new Set([400, 413, 422]);

/** Sends the waiting uploads in order, one push at a time. */
export class Pusher {
  readonly #data: DeviceData;
  readonly #caller: SessionCaller;
  readonly #hooks: PusherHooks;
  #uploadsMax = UPLOADS_PER_PUSH_MAX;
  #inFlight: ReadonlySet<string> = new Set();

  constructor(data: DeviceData, caller: SessionCaller, hooks: PusherHooks) {
    this.#data = data;
    this.#caller = caller;
    this.#hooks = hooks;
  }

  get inFlight(): ReadonlySet<string> {
    return this.#inFlight;
  }

  /** Makes one push. Returns true if more uploads wait. */
  async round(scope: WorkScope): Promise<boolean> {
    // Sent without its version, a change would be taken for one of the present version.
    if (awaitsSchema(this.#data.replica.reader)) await this.#hooks.readSources(scope);
    const changes = await this.#data.writes.take((reader) => nextChunk(reader, this.#uploadsMax));
    if (changes.length === 0 || scope.signal.aborted) return false;
    this.#setInFlight(changes);
    try {
      await this.#push(changes, scope);
    } finally {
      this.#setInFlight([]);
    }
    return nextChunk(this.#data.replica.reader, 1).length > 0;
  }

  async #push(changes: readonly Upload[], scope: WorkScope): Promise<void> {
    const acks = acknowledgementsToSend(this.#data.replica.reader);
    const body = { client_id: scope.clientId, changes, ...acknowledgedMember(acks) };
    try {
      const answer = await this.#caller.ask({
        method: 'POST',
        path: '/push',
        body,
        read: readPush,
        signal: scope.signal,
      });
      await this.#settle(changes, answer.outcomes, acks, scope);
      this.#uploadsMax = Math.min(UPLOADS_PER_PUSH_MAX, this.#uploadsMax * 2);
    } catch (error) {
      if (!isWrongContent(error)) throw error;
      await this.#setAside(changes, error, scope);
    }
  }

  async #settle(
    changes: readonly Upload[],
    outcomes: readonly Outcome[],
    acks: Acknowledgements,
    scope: WorkScope,
  ): Promise<void> {
    const answered = new Set(outcomes.map(({ op_id: opId }) => opId));
    if (!changes.some(({ op_id: opId }) => answered.has(opId))) {
      throw clientError('bad_answer', 'the answer has no outcomes for the uploads');
    }
    const outcomeEffects = await transactIn(this.#data.replica, scope, (tx) => {
      dropSent(tx, acks);
      return outcomes.flatMap((outcome) => this.#settleOne(tx, outcome));
    });
    this.#hooks.onOutcomes(outcomeEffects);
  }

  /**
   * Handles a push that was refused as a whole although only one upload may be wrong: it is halved until the wrong
   * upload is found, which is then rejected, so that it does not block the others.
   */
  async #setAside(changes: readonly Upload[], error: ClientError, scope: WorkScope): Promise<void> {
    const { code, message } = error;
    const [only] = changes;
    if (changes.length > 1 || only === undefined) {
      this.#uploadsMax = Math.ceil(changes.length / 2);
      return;
    }
    // The server has no room for another outcome: that is temporary, and no fault of the upload.
    if (code === 'limit_exceeded') throw error;
    const { op_id, source, id } = only;
    const outcome: Outcome = { op_id, source, id, status: 'rejected', error: { code, detail: message } };
    this.#hooks.onOutcomes(await transactIn(this.#data.replica, scope, (tx) => this.#settleOne(tx, outcome)));
  }

  #settleOne(tx: Transaction, outcome: Outcome): readonly OutcomeEffects[] {
    return settleOutcome(tx, outcome, {
      nowMs: this.#data.platform.nowMs(),
      settled: this.#data.writes.takeSettled(),
      newOpId: () => randomId(this.#data.platform),
    });
  }

  #setInFlight(changes: readonly Upload[]): void {
    this.#inFlight = new Set(changes.map(({ op_id: opId }) => opId));
    this.#hooks.onInFlight();
  }
}

function isWrongContent(error: unknown): error is ClientError {
  return error instanceof ClientError && WRONG_CONTENT_STATUSES.has(error.status);
}
