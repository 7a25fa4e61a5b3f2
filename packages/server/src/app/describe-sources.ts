import type { StoredSchema, Tidemark } from '@tidemark/core';

/** A source with its schema, as types are made of it. */
export interface DescribedSource extends Pick<StoredSchema, 'steps'> {
  readonly name: string;
  /** Null: the source has none. */
  readonly schema: StoredSchema['schema'] | null;
  readonly version: number;
  readonly references: Readonly<Record<string, string>>;
}

/** Returns all sources with their schemas. */
export async function describeSources({ sources }: Pick<Tidemark, 'sources'>): Promise<readonly DescribedSource[]> {
  return (await sources.list()).map((view) => {
    const { name, references } = view;
    const stored = sources.schemas.of(view);
    if (stored === null) return { name, references, schema: null, version: 1, steps: [] };
    const { schema, steps } = stored;
    return { name, references, schema, version: steps.length + 1, steps };
  });
}
