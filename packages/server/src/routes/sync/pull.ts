import {
  type Bearer,
  type DevicePull,
  pageJson,
  type RenderedPage,
  readAckRequest,
  readPullRequest,
  renderPull,
} from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import { AckAnswer, AckRequest, PullAnswer, PullRequest, SyncSources } from '@tidemark/protocol/sync-schemas';
import type { ActivityFact } from '../../activity/activity-filter.ts';
import { markPage } from '../../http/coding/text-parts.ts';
import { JsonParts, type Repeatable, type RouteContext, route, type ShownFact } from '../../http/route.ts';
import { ACTIVITY_DATA_UNITS_MAX } from '../../limits.ts';
import { actingDevice, ownDevice } from './acting-device.ts';

const sources = route({
  method: 'GET',
  path: '/sync/v1/sources',
  operationId: 'deviceSources',
  scope: 'device',
  summary: 'The sources of the device',
  answer: SyncSources,
  handle: async ({ context, bearer }) => {
    await ownDevice(context, bearer);
    return { sources: await context.tidemark.devices.sources() };
  },
});

const pull = route({
  method: 'POST',
  path: '/sync/v1/pull',
  operationId: 'devicePull',
  scope: 'device',
  summary: 'Pull the changes of all sources',
  refusals: ['client_not_found', 'user_not_found', 'invalid_value'],
  body: PullRequest,
  answer: PullAnswer,
  activity: ({ bearer }, answer) => shownPages(bearer, (answer as PullParts).pulled),
  handle: async ({ context, body, bearer }) => {
    const startedMs = performance.now();
    const pulled = await context.tidemark.devices.pull(actingDevice(bearer, body.client_id), readPullRequest(body));
    countPages(context, pulled, performance.now() - startedMs);
    countMismatches(context, body, pulled);
    return new PullParts(pulled, repeatableOf(context, pulled));
  },
});

const acknowledge = route({
  method: 'POST',
  path: '/sync/v1/ack',
  operationId: 'deviceAcknowledge',
  scope: 'device',
  summary: 'Tell what the device holds after a catch-up',
  description:
    'Records the tokens as a pull with them would, so that delivery receipts need not wait for the next pull. A token that a pull would answer with `reset` is left out.',
  refusals: ['client_not_found', 'user_not_found', 'invalid_value'],
  body: AckRequest,
  answer: AckAnswer,
  handle: async ({ context, body, bearer }) => {
    const device = actingDevice(bearer, body.client_id);
    return { acknowledged: await context.tidemark.devices.acknowledge(device, readAckRequest(body)) };
  },
});

/** The pages of an answer. Sources that cannot be pulled have none. */
function* pagesIn({ pages }: DevicePull): Iterable<{ readonly source: string; readonly page: RenderedPage }> {
  for (const { source, page } of pages) if (!('error' in page)) yield { source, page };
}

/** A pull without news may be answered again as long as everything that it was answered from is as it was. */
function repeatableOf(context: RouteContext, pulled: DevicePull): Repeatable | null {
  const { isUnchanged } = pulled;
  if (isUnchanged === undefined) return null;
  let startedMs = 0;
  return {
    isCurrent() {
      startedMs = performance.now();
      return isUnchanged();
    },
    onRepeated: () => countPages(context, pulled, performance.now() - startedMs),
  };
}

/** Counts only sources that exist, since there is a page of them: strangers cannot grow the set of metrics. */
function countPages({ tidemark, metrics, nowMs }: RouteContext, pulled: DevicePull, elapsedMs: number): void {
  for (const { source, page } of pagesIn(pulled)) {
    tidemark.stats.record(`sources:pull:${source}`, elapsedMs, nowMs());
    const reason = page.start.kind === 'reset' ? page.start.reason : null;
    metrics.devices.pageSent(source, { entries: page.entries, bytes: page.body.units, reason });
  }
}

function countMismatches({ metrics }: RouteContext, { sources: asked }: PullRequest, { pages }: DevicePull): void {
  for (const { source, page } of pages) {
    if (asked[source]?.mismatch === true && !('error' in page)) metrics.devices.mismatched(source);
  }
}

/** The answer to a pull, with what it was made from. */
class PullParts extends JsonParts {
  readonly pulled: DevicePull;

  constructor(pulled: DevicePull, repeatable: Repeatable | null) {
    super(renderPull(pulled), repeatable);
    for (const { page } of pagesIn(pulled)) markPage(page);
    this.pulled = pulled;
  }
}

/** Pages without changes are not shown. */
function shownPages(bearer: Bearer | null, pulled: DevicePull): readonly ShownFact[] {
  return [...pagesIn(pulled)].flatMap(({ source, page }) => {
    if (page.entries === 0) return [];
    const device = { user_id: bearer?.user ?? null, client_id: bearer?.client ?? null };
    const { entries: objects, more, start } = page;
    const reset = start.kind === 'reset' ? start.reason : null;
    const fact: ActivityFact = { kind: 'pull', ...device, source, objects, bytes: page.body.units, more, reset };
    return [{ fact, data: () => dataOf(page) }];
  });
}

function dataOf({ body }: RenderedPage): unknown {
  return body.units > ACTIVITY_DATA_UNITS_MAX ? null : parseJson(pageJson('', body));
}

export const pullRoutes = [sources, pull, acknowledge];
