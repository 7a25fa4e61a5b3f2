import { ACKNOWLEDGED_PER_CALL_MAX, pointer } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { RegisteredDevice } from '../devices/device-sessions.ts';
import type { NoteRef } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import type { Sources } from '../sources/sources.ts';
import { requireOpId } from './admit-upload.ts';
import { readOutcome, settledWrites } from './upload-notes.ts';
import { type CommitPorts, commitPlan } from './upload-plan.ts';
import type { UploadTarget, UploadTargets } from './upload-target.ts';

/** Op ids by source; of a source of groups, by group. */
export type Acknowledged = ReadonlyMap<string, readonly string[] | ReadonlyMap<string, readonly string[]>>;

export interface OutcomeAcknowledgementsPorts extends CommitPorts {
  readonly sources: Sources;
}

/** Notes which outcomes a device has received, so that they are not sent again. */
export class OutcomeAcknowledgements {
  readonly #ports: OutcomeAcknowledgementsPorts;
  readonly #targets: UploadTargets;

  constructor(ports: OutcomeAcknowledgementsPorts, targets: UploadTargets) {
    this.#ports = ports;
    this.#targets = targets;
  }

  async note(device: RegisteredDevice, acknowledged: Acknowledged = new Map()): Promise<void> {
    const lists = [...acknowledged].flatMap(([source, given]) => acknowledgedIn(source, given));
    requireCount(lists.flatMap(({ opIds }) => opIds).length, ACKNOWLEDGED_PER_CALL_MAX, 'acknowledged');
    requireCount(lists.length, ACKNOWLEDGED_PER_CALL_MAX, 'acknowledged');
    for (const { at, opIds } of lists) {
      for (const [index, opId] of opIds.entries()) requireOpId(opId, pointer('acknowledged', ...at, index));
    }
    for (const { source, groups, opIds } of lists) {
      // The outcomes of a deleted source went with it.
      if (opIds.length === 0 || !(await this.#ports.sources.has(source))) continue;
      const refs = [...new Set(opIds)].map((key): NoteRef => ({ kind: 'outcome', key }));
      for (const target of await this.#targets.lastKnown(device, source, groups)) {
        for (const partition of [target.partition, ...target.earlier]) {
          await this.#settle({ ...target, partition }, refs);
        }
      }
    }
  }

  /** Outcomes of uploads that are still queued stay as they are. */
  async #settle(target: UploadTarget, refs: readonly NoteRef[]): Promise<void> {
    await retryOnConflict(async () => {
      const notes = await this.#ports.store.readNotes(target.partition, target.client, refs);
      const final = notes.filter((note) => readOutcome(note).status !== 'queued');
      const nowMs = this.#ports.clock.nowMs();
      const plan = { changes: [], writes: final.flatMap((note) => settledWrites(note, nowMs)) };
      return final.length === 0 || (await commitPlan(this.#ports, target, plan)) ? true : null;
    });
  }
}

/** The acknowledged op ids of one source, or of one group of it. */
interface AcknowledgedList {
  readonly source: string;
  /** Absent: the source has no groups, or the device means all of them. */
  readonly groups?: readonly string[];
  /** Where the list is in the request. */
  readonly at: readonly string[];
  readonly opIds: readonly string[];
}

function acknowledgedIn(
  source: string,
  given: readonly string[] | ReadonlyMap<string, readonly string[]>,
): readonly AcknowledgedList[] {
  if (!(given instanceof Map)) return [{ source, at: [source], opIds: given as readonly string[] }];
  return Array.from(given, ([group, opIds]) => ({ source, groups: [group], at: [source, group], opIds }));
}
