import { BoundedMap } from '../primitives/bounded-map.ts';
import { CompiledSchema } from './compiled-schema.ts';
import type { StoredSchema } from './stored-schema.ts';

const COMPILED_MAX = 1_000;

/** The compiled schemas of sources. Each is compiled again only when the schema changes, not whenever the source does. */
export class SchemaCache {
  readonly #compiled = new BoundedMap<string, { readonly text: string; readonly compiled: CompiledSchema }>(
    COMPILED_MAX,
  );

  of(source: string, { schema }: StoredSchema): CompiledSchema {
    const text = JSON.stringify(schema);
    const known = this.#compiled.get(source);
    if (known?.text === text) return known.compiled;
    const compiled = new CompiledSchema(schema);
    this.#compiled.set(source, { text, compiled });
    return compiled;
  }
}
