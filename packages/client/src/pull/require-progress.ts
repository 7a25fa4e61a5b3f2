import type { Page } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { PageAsked } from './apply-page.ts';

/** Refuses a page that would make the device ask for the same page forever. */
export function requireProgress({ source, token }: PageAsked, page: Page): void {
  if (!page.more || page.token !== token) return;
  throw clientError('bad_answer', `the pages of ${JSON.stringify(source)} make no progress`);
}
