import type { PartialError } from '@tidemark/protocol';
import type { BuiltPage } from '../pages/built-page.ts';
import type { PullPosition } from '../pages/pull.ts';
import { bodyWith, type PageBody } from '../pages/render-page.ts';
import { tokenText } from '../pages/token.ts';

/** A page on its way to one device: its JSON is `{"token":"<token>",` and then the parts of the body. */
export interface RenderedPage {
  readonly token: string;
  readonly more: boolean;
  readonly body: PageBody;
  /** Whether others are given the same. */
  readonly isShared: boolean;
}

/** Why there is no page of a source. */
export interface NoPage {
  readonly error: PartialError;
}

/** With `trouble`, the backend could not be asked: what is there is given all the same. */
export function rendered(seen: PullPosition, page: BuiltPage, trouble: PartialError | null): RenderedPage {
  const body = trouble === null ? page.body : bodyWith(page.body, `"error":${JSON.stringify(trouble)}`);
  const isShared = seen.partition.user === null;
  return { token: givenBack(seen) ?? tokenFor(seen, page), more: page.more, body, isShared };
}

function tokenFor({ restarts }: PullPosition, { token, tokenText: text }: BuiltPage): string {
  return restarts === 0 && text !== undefined ? text : tokenText(token, restarts);
}

/** The token of a device that has caught up and finds nothing new is the one it has. */
function givenBack({ hasNews, presented, token, state }: PullPosition): string | null {
  if (hasNews || token === null || token === 'unreadable') return null;
  const { epoch, seq, baseline } = token;
  return epoch === state.epoch && baseline.kind === 'base' && baseline.seq === seq ? presented : null;
}
