import type { TidemarkClient } from '@tidemark/backend';
import type { DescribedSource } from './described-source.ts';

/** Reads all sources of a server with their schemas. */
export async function readSources({ sources }: Pick<TidemarkClient, 'sources'>): Promise<readonly DescribedSource[]> {
  const described: DescribedSource[] = [];
  for (const { name, references, schema } of await sources.list()) {
    const stored = schema === null ? null : await sources.schema(name);
    const { version, steps } = stored ?? { version: 1, steps: [] };
    described.push({ name, version, steps, schema: stored?.schema ?? null, references });
  }
  return described;
}
