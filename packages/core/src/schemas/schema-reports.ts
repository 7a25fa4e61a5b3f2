import { SCHEMA_SAMPLES_MAX } from '@tidemark/protocol';
import { type FoundFlaws, type ObjectFlaw, sentenceOf } from '../admission/schema-check.ts';
import { BoundedMap } from '../primitives/bounded-map.ts';

const REPORTED_SOURCES_MAX = 1_000;

/** What a schema that only reports would have refused since it was set, or since this process started. */
export interface Misfits {
  readonly objects: number;
  /** The newest ones, the last one first. */
  readonly samples: readonly Misfit[];
}

export interface Misfit {
  readonly object: string;
  readonly attribute: string;
  /** A whole sentence, which says nothing of the value. */
  readonly detail: string;
  readonly atMs: number;
}

const NONE: Misfits = { objects: 0, samples: [] };

/** Counts objects that do not fit the schema of their source and were written all the same. */
export class SchemaReports {
  readonly #misfits = new BoundedMap<string, { readonly version: number; readonly misfits: Misfits }>(
    REPORTED_SOURCES_MAX,
  );

  add(source: string, version: number, { objects, flaws }: FoundFlaws, atMs: number): void {
    const before = this.of(source, version);
    const found = flaws.map((flaw) => misfitOf(flaw, atMs)).reverse();
    const samples = [...found, ...before.samples].slice(0, SCHEMA_SAMPLES_MAX);
    this.#misfits.set(source, { version, misfits: { objects: before.objects + objects, samples } });
  }

  /** What was written since this version of the schema is the present one. */
  of(source: string, version: number): Misfits {
    const known = this.#misfits.get(source);
    return known?.version === version ? known.misfits : NONE;
  }
}

function misfitOf(flaw: ObjectFlaw, atMs: number): Misfit {
  return { object: flaw.object, attribute: flaw.attribute, detail: sentenceOf(flaw), atMs };
}
