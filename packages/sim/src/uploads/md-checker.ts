import type { ModelPartition } from '../model/partition.ts';
import { callOf, keyOf, partitionText } from '../model/partition.ts';
import type { HistoryRun } from './history-run.ts';
import { numberIn, personIn } from './ledger.ts';
import type { AboutObject } from './uploading-device.ts';

interface Seen {
  /** The step in which the object was first seen, without a gap since. */
  readonly since: number;
  /** The newest number of each attribute. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** Checks md after every step: that it belongs to its user, and that no attribute becomes older. */
export class MdChecker {
  readonly #run: HistoryRun;
  readonly #seen = new Map<string, Map<string, Seen>>();
  /** Epoch and head of the partitions at the last check. */
  readonly #heads = new Map<string, string>();

  constructor(run: HistoryRun) {
    this.#run = run;
  }

  async check(): Promise<void> {
    for (const partition of this.#run.partitions) await this.#checkPartition(partition);
    for (const device of this.#run.devices) {
      for (const rejected of device.dependent.splice(0)) this.#checkDependent(rejected);
      for (const applied of device.applied.splice(0)) this.#checkApplied(`d${device.index}`, applied);
    }
  }

  #checkDependent({ partition, id, upload }: AboutObject): void {
    const since = this.#seen.get(partitionText(partition))?.get(id)?.since;
    this.#run.ledger.demand(since === undefined || since >= upload.step, 'UPSIM-4', () => {
      const { op_id: opId } = upload.upload;
      return `${opId} was rejected because ${partitionText(partition)} ${id} is missing, but it exists since step ${since}`;
    });
  }

  /** Checks that md has what was reported as applied, or something newer, unless the backend changed it since. */
  #checkApplied(attribute: string, { partition, id, upload }: AboutObject): void {
    const { ledger, backend } = this.#run;
    const inBackend = numberIn(backend.objects(partition).get(id)?.[attribute]);
    if (inBackend === null || upload.person !== ledger.personOf(upload.user)) return;
    const inMd = this.#seen.get(partitionText(partition))?.get(id)?.numbers.get(attribute) ?? 0;
    ledger.demand(inMd >= Math.min(upload.number, inBackend), 'UPSIM-5', () => {
      return `${upload.upload.op_id} (number ${upload.number}) was reported as applied, but md has number ${inMd} of ${id}`;
    });
  }

  async #checkPartition(partition: ModelPartition): Promise<void> {
    const { ledger, observer } = this.#run;
    const { epoch, head } = await observer.tidemark.store.partition(keyOf(partition));
    if (this.#heads.get(partitionText(partition)) === `${epoch} ${head}`) return;
    this.#heads.set(partitionText(partition), `${epoch} ${head}`);
    const before = this.#seen.get(partitionText(partition)) ?? new Map<string, Seen>();
    const now = new Map<string, Seen>();
    for (const [id, attributes] of await objectsOf(this.#run, partition)) {
      const numbers = new Map<string, number>();
      for (const [name, value] of Object.entries(attributes)) {
        const person = personIn(value);
        const isOwn = person === null || partition.user === null || person === ledger.personOf(partition.user);
        ledger.demand(isOwn, 'UPSIM-3', () => `md of ${partitionText(partition)} has ${id} with ${name} of ${person}`);
        const number = numberIn(value) ?? 0;
        const last = before.get(id)?.numbers.get(name) ?? 0;
        ledger.demand(number >= last, 'UPSIM-2', () => {
          return `${name} of ${partitionText(partition)} ${id} went back from number ${last} to ${number}`;
        });
        numbers.set(name, number);
      }
      now.set(id, { since: before.get(id)?.since ?? ledger.step, numbers });
    }
    this.#seen.set(partitionText(partition), now);
  }
}

export function objectsOf({ observer }: HistoryRun, partition: ModelPartition) {
  return observer.tidemark.objects.read(callOf(partition));
}
