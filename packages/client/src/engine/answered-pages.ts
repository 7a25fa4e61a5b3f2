import type { GroupPages, Page, PullAnswer } from '@tidemark/protocol';
import type { PageAsked } from '../pull/apply-page.ts';
import { requireProgress } from '../pull/require-progress.ts';
import { isGroups, isPage } from '../transport/read-answer.ts';

/** The pages of the sources that were asked for and have one. */
export function pagesOf({ sources }: PullAnswer, asked: ReadonlyMap<string, PageAsked>): ReadonlyMap<string, Page> {
  const pages = new Map<string, Page>();
  for (const [source, ask] of asked) {
    const page = Object.hasOwn(sources, source) ? sources[source] : undefined;
    if (page === undefined || !isPage(page)) continue;
    requireProgress(ask, page);
    pages.set(source, page);
  }
  return pages;
}

/** The pages of sources whose data belongs to groups. */
export function groupsIn(
  { sources }: PullAnswer,
  asked: ReadonlyMap<string, PageAsked>,
): readonly { readonly ask: PageAsked; readonly groups: GroupPages }[] {
  return [...asked].flatMap(([source, ask]) => {
    const answered = Object.hasOwn(sources, source) ? sources[source] : undefined;
    return answered !== undefined && isGroups(answered) ? [{ ask, groups: answered }] : [];
  });
}
