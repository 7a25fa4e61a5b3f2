import { errorMessage, Refusal, type Step } from '@tidemark/protocol';
import type { Log } from '../ports/log.ts';
import type { Guard, PartitionKey } from '../ports/store.ts';
import { type ConvertPorts, convertObjects } from './convert-objects.ts';

/** A source with objects of the version before the present one. */
export interface ConvertingSource {
  readonly name: string;
  readonly version: number;
  /** From that version to the present one. */
  readonly steps: readonly Step[];
  readonly guard: Guard;
}

/** What it needs of the outside. */
export type ConversionPorts = Omit<ConvertPorts, 'onCommitted'> & { readonly log: Log };

export interface ConversionsParts extends ConvertPorts {
  readonly log: Log;
  /** The sources whose objects are to be converted. */
  readonly converting: () => Promise<readonly ConvertingSource[]>;
  /** Notes that all objects of a source are of a version, if that is still the present one. */
  readonly onConverted: (source: string, version: number) => Promise<void>;
}

const PARTITIONS_PER_READ = 1_000;
/** How often all partitions are looked at. The next round begins again. */
const PASSES_MAX = 100;

/** Brings stored objects to the present version of their schema. One server does it at a time; after a kill it begins again. */
export class Conversions {
  readonly #parts: ConversionsParts;

  constructor(parts: ConversionsParts) {
    this.#parts = parts;
  }

  /** Converts what is left of all sources. `mayGoOn` returns false when another server does it. */
  async run(mayGoOn: () => Promise<boolean> = async () => true): Promise<void> {
    for (const source of await this.#parts.converting()) {
      try {
        await this.#convert(source, mayGoOn);
      } catch (error) {
        // The source was changed or deleted meanwhile, or the store does not answer: the next round begins again.
        if (!(error instanceof Refusal)) throw error;
        this.#parts.log.info('conversion_interrupted', { source: source.name, reason: errorMessage(error) });
      }
    }
  }

  async #convert(source: ConvertingSource, mayGoOn: () => Promise<boolean>): Promise<void> {
    const { log, onConverted } = this.#parts;
    let objects = 0;
    // What was moved meanwhile, or written by a call that began before, may have come to a partition that was done already.
    for (let converted = -1, passes = 0; converted !== 0; passes++) {
      if (passes === PASSES_MAX) throw new Refusal('write_conflict', 'objects of the version before kept coming');
      converted = 0;
      for await (const partition of this.#partitionsOf(source.name)) {
        if (!(await mayGoOn())) return;
        converted += await convertObjects(this.#parts, { ...source, partition });
      }
      objects += converted;
    }
    await onConverted(source.name, source.version);
    log.info('objects_converted', { source: source.name, objects });
  }

  async *#partitionsOf(source: string): AsyncGenerator<PartitionKey> {
    let after: PartitionKey | undefined;
    do {
      const page = { limit: PARTITIONS_PER_READ, ...(after === undefined ? {} : { after }) };
      const partitions = await this.#parts.store.partitions(page);
      for (const partition of partitions) if (partition.source === source) yield partition;
      after = partitions.length < PARTITIONS_PER_READ ? undefined : partitions.at(-1);
    } while (after !== undefined);
  }
}
