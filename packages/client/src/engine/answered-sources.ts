import type { GroupPages, Page, PartialError, PullAnswer } from '@tidemark/protocol';
import { isGroups, isPage } from '../transport/read-answer.ts';

/** The page of one position: of a source, or of one of its groups. */
export interface AnsweredPage {
  readonly group?: string;
  readonly page: Page;
}

/** What an answer says about one source, whether its data belongs to groups or not. */
export interface AnsweredSource {
  readonly source: string;
  readonly pages: readonly AnsweredPage[];
  /** Groups that the user is not a member of any more. */
  readonly gone: readonly string[];
  /** True: another pull goes on. */
  readonly more: boolean;
  /** Errors of pages, and of positions without one. */
  readonly errors: readonly PartialError[];
  /** What the answer says about the tokens of all groups; null: the source has none. */
  readonly set: GroupPages | null;
}

/** Returns what an answer says about the sources that were asked for; an error if it has nothing of one. */
export function answeredSources(
  { sources }: PullAnswer,
  names: readonly string[],
): readonly (AnsweredSource | { readonly source: string; readonly error: PartialError })[] {
  return names.map((source) => {
    const answered = Object.hasOwn(sources, source) ? sources[source] : undefined;
    if (answered === undefined) return { source, error: { code: 'bad_answer', detail: 'the server sent no page' } };
    if (isGroups(answered)) return ofGroups(source, answered);
    return isPage(answered) ? ofPage(source, answered) : { source, error: answered.error };
  });
}

export function ofPage(source: string, page: Page): AnsweredSource {
  const { more, error } = page;
  return { source, pages: [{ page }], gone: [], more, errors: error === undefined ? [] : [error], set: null };
}

function ofGroups(source: string, set: GroupPages): AnsweredSource {
  const { groups, gone = [], more } = set;
  const pages = Object.entries(groups).flatMap(([group, page]) => (isPage(page) ? [{ group, page }] : []));
  const errors = Object.values(groups).flatMap(({ error }) => error ?? []);
  return { source, pages, gone, more, errors, set };
}
