import type { AckRequest, PullRequest, PushRequest } from '@tidemark/protocol';
import type { RenderedPage } from '../pages/read-page.ts';
import { type PagePart, pageJson, pageParts } from '../pages/render-page.ts';
import type { Acknowledged } from '../uploads/outcome-acknowledgements.ts';
import type { DevicePushCall } from '../uploads/uploads.ts';
import type { HeldTokens } from './acknowledgements.ts';
import type { LivePage } from './live-pages.ts';
import type { Presented } from './presented.ts';
import type { GroupNews, SourcePage } from './pull-answer.ts';
import type { DevicePull, DevicePullCall } from './pulls.ts';

// The JSON of the device protocol, whatever carries it: this file alone knows that a source has either one page or a page
// for each group (docs/sync-protocol.md).

/** Reads the body of a pull. */
export function readPullRequest({ sources, max_objects, acknowledged }: PullRequest): DevicePullCall {
  return {
    sources: new Map(Object.entries(sources).map(([name, asked]) => [name, presentedIn(asked)])),
    ...(max_objects === undefined ? {} : { objectsMax: max_objects }),
    ...(acknowledged === undefined ? {} : { acknowledged: acknowledgedIn(acknowledged) }),
  };
}

/** Reads the body of a push of a device. */
export function readPushRequest({ changes, acknowledged }: PushRequest): DevicePushCall {
  return { changes, ...(acknowledged === undefined ? {} : { acknowledged: acknowledgedIn(acknowledged) }) };
}

/** Reads the tokens in the body of an acknowledgement. */
export function readAckRequest({ sources }: AckRequest): HeldTokens {
  return new Map(
    Object.entries(sources).map(([source, held]) => [
      source,
      typeof held === 'string' ? held : new Map(Object.entries(held.groups)),
    ]),
  );
}

/** What a device presents to one source. */
function presentedIn(asked: PullRequest['sources'][string]): Presented {
  const { token = null, groups, set_token, only, uploads } = asked;
  if (groups === undefined && set_token === undefined) return token;
  return {
    groups: new Map(Object.entries(groups ?? {}).map(([group, held]) => [group, held.token ?? null])),
    ...(set_token === undefined ? {} : { set: set_token }),
    ...(only === undefined ? {} : { only }),
    ...(uploads === undefined ? {} : { uploads }),
  };
}

/** The acknowledged op ids of a pull or push, by source, or by source and group. */
function acknowledgedIn(given: NonNullable<PullRequest['acknowledged']>): Acknowledged {
  return new Map(
    Object.entries(given).map(([source, ids]) => [source, Array.isArray(ids) ? ids : new Map(Object.entries(ids))]),
  );
}

/** Writes the answer to a pull. Pages are text already; only the text between them is written here. */
export function renderPull({ pages, grouped, outcomes, versions }: DevicePull): readonly PagePart[] {
  const parts: PagePart[] = [];
  const begin = (source: string) =>
    parts.push(`${parts.length === 0 ? '{"sources":{' : ','}${JSON.stringify(source)}:`);
  for (const { source, group, page } of pages) {
    if (group !== null) continue;
    begin(source);
    parts.push(...pageOrError(page));
  }
  for (const news of grouped) {
    begin(news.source);
    parts.push(...groupPages(news, pages));
  }
  if (parts.length === 0) parts.push('{"sources":{');
  const told = versions.size === 0 ? '' : `,"versions":${JSON.stringify(Object.fromEntries(versions))}`;
  parts.push(`},"outcomes":${JSON.stringify(outcomes)}${told}}`);
  return parts;
}

function groupPages(
  { source, gone, changed, setToken, more }: GroupNews,
  pages: readonly SourcePage[],
): readonly PagePart[] {
  const parts: PagePart[] = ['{"groups":{'];
  for (const { group, page } of pages.filter((one) => one.source === source && one.group !== null)) {
    parts.push(`${parts.length === 1 ? '' : ','}${JSON.stringify(group)}:`, ...pageOrError(page));
  }
  const rest = {
    ...(gone.length === 0 ? {} : { gone }),
    ...(changed.length === 0 ? {} : { changed }),
    ...(setToken === undefined ? {} : { set_token: setToken }),
    more,
  };
  parts.push(`},${JSON.stringify(rest).slice(1)}`);
  return parts;
}

function pageOrError(page: SourcePage['page']): readonly PagePart[] {
  return 'error' in page ? [JSON.stringify(page)] : pageParts(page.token, page.body);
}

/** Writes the pages of a snapshot, one on each line. */
export function renderLines(pages: readonly RenderedPage[]): readonly PagePart[] {
  return pages.flatMap(({ token, body }) => [...pageParts(token, body), '\n']);
}

/** Writes the event `changed` with its page. The text has no line breaks. */
export function renderChange(source: string, { from, page, version }: LivePage): string {
  const told = version === null ? '' : `"version":${version},`;
  return `{"source":${JSON.stringify(source)},"from":"${from}",${told}"page":${pageJson(page.token, page.body)}}`;
}
