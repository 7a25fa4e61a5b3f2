import type { Transport } from '@tidemark/backend/transport';
import type { SourceSchema, Step } from '@tidemark/protocol';
import { type DescribedSource, sortedSources } from './described-source.ts';

interface ListedSource {
  readonly name: string;
  /** Also those that the schema declares. */
  readonly references: Readonly<Record<string, string>>;
  /** Null: the source has no schema. */
  readonly schema?: { readonly version: number } | null;
}

interface StoredSchema {
  readonly schema: SourceSchema;
  readonly version: number;
  /** `steps[0]` leads from version 1 to 2. */
  readonly steps: readonly (readonly Step[])[];
}

/** Reads all sources of a server with their schemas. */
export async function readSources(server: Pick<Transport, 'get'>): Promise<readonly DescribedSource[]> {
  const described: DescribedSource[] = [];
  for (const { name, references, schema } of await server.get<readonly ListedSource[]>('/rc/v1/sources')) {
    if (!schema) described.push({ name, references, schema: null, version: 1, steps: [] });
    else {
      const stored = await server.get<StoredSchema>(`/rc/v1/sources/${encodeURIComponent(name)}/schema`);
      const { version, steps } = stored;
      described.push({ name, version, steps, schema: stored.schema, references });
    }
  }
  return sortedSources(described);
}
