import { LIST_MAX } from '@tidemark/protocol';
import type { ApiClient } from './api-client.ts';

/** Reads all pages of a listing. `keyOf` returns the key after which the next page begins. */
export async function listAll<T>(api: ApiClient, path: string, keyOf: (item: T) => string): Promise<readonly T[]> {
  const items: T[] = [];
  for (;;) {
    const last = items.at(-1);
    const page = await api.get<readonly T[]>(path, {
      limit: LIST_MAX,
      ...(last === undefined ? {} : { after: keyOf(last) }),
    });
    items.push(...page);
    if (page.length < LIST_MAX) return items;
  }
}
