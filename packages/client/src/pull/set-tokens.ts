import type { GroupPages } from '@tidemark/protocol';
import type { Reader } from '../state/local-state.ts';
import { tokenOf } from './apply-page.ts';

/** The members of a pull that say what the device holds of the groups of a source. */
export interface PresentedGroups {
  readonly groups: Readonly<Record<string, { readonly token?: string }>>;
  readonly set_token: string | null;
}

interface SetToken {
  readonly token: string;
  /** Groups whose tokens it does not stand for. */
  readonly named: Set<string>;
}

/**
 * The tokens that stand for those of all groups of a source, so that a pull without news need not name each of them. They
 * are kept in memory only: the first pull after a start presents every token.
 */
export class SetTokens {
  readonly #sets = new Map<string, SetToken>();

  presented(reader: Reader, source: string): PresentedGroups {
    const set = this.#sets.get(source) ?? null;
    const groups = [...reader.entries('sources', source)].flatMap(([group, row]) => {
      const token = tokenOf(row);
      // Another tab may have begun a catch-up of the group, or may have found that it must start over.
      const isWhole = token !== null && row.staging === null;
      if (set !== null && isWhole && !set.named.has(group)) return [];
      return [[group, token === null ? {} : { token }] as const];
    });
    return { groups: Object.fromEntries(groups), set_token: set?.token ?? null };
  }

  /** True if the device will present something else after it has taken the answer. */
  hasNews(source: string, { changed = [], set_token: token }: GroupPages): boolean {
    const set = this.#sets.get(source);
    if (token !== undefined) return token !== (set?.token ?? null);
    return set !== undefined && changed.some((group) => !set.named.has(group));
  }

  /** Takes what an answer says, once its pages are stored. */
  take(source: string, { groups, changed = [], set_token: token }: GroupPages): void {
    if (typeof token === 'string') this.#sets.set(source, { token, named: new Set() });
    else if (token === null) this.#sets.delete(source);
    const named = this.#sets.get(source)?.named;
    for (const group of [...changed, ...Object.keys(groups)]) named?.add(group);
  }

  /** Makes the next pull present every token. */
  forget(source: string): void {
    this.#sets.delete(source);
  }

  clear(): void {
    this.#sets.clear();
  }
}
