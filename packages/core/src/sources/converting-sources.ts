import { versionOf } from '../schemas/stored-schema.ts';
import type { SourceSchemas } from './source-schemas.ts';
import type { SourceView } from './source-view.ts';

interface Registry {
  readonly schemas: SourceSchemas;
  list(): Promise<readonly SourceView[]>;
  find(name: string): Promise<SourceView | null>;
  versionOf(view: SourceView): number;
}

/** The sources with objects of the version before the present one of their schema, and what must stay as it is meanwhile. */
export async function convertingSources(sources: Registry) {
  const names = (await sources.list()).filter(({ schema }) => schema?.converting === true).map(({ name }) => name);
  const views = await Promise.all(names.map((name) => sources.find(name)));
  return views.flatMap((view) => {
    const stored = view === null ? null : sources.schemas.of(view);
    if (view === null || stored?.converting !== true) return [];
    const guard = { kind: 'source', key: [view.name], version: sources.versionOf(view) } as const;
    return [{ name: view.name, version: versionOf(stored), steps: stored.steps.at(-1) ?? [], guard }];
  });
}
