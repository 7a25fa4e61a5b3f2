import { Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import type { SourceView } from './source-view.ts';

/** Whether the source refuses apps that were built with an older version of its schema. */
export function refusesOldApps({ schema }: Pick<SourceView, 'schema'>): boolean {
  return schema !== null && schema.oldest_version > 1;
}

/** Refuses an app that says it was built with a version of the schema that the source does not serve any more. */
export function requireServed(
  { name, schema }: Pick<SourceView, 'name' | 'schema'>,
  versions: ReadonlyMap<string, number>,
): void {
  const version = versions.get(name);
  if (schema === null || version === undefined || version >= schema.oldest_version) return;
  const detail = `the app was built with version ${version} of the schema of ${quoted(name)}`;
  throw new Refusal(
    'app_too_old',
    `${detail}, and the oldest that is served is ${schema.oldest_version}: update the app`,
  );
}
