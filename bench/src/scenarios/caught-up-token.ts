import type { Page } from '@tidemark/protocol';
import { SOURCE, type World } from '../world.ts';

/** The token of a device that holds everything. */
export async function caughtUpToken({ tidemark }: World): Promise<string> {
  let token: string | null = null;
  for (;;) {
    const page: Page = JSON.parse((await tidemark.pull({ source: SOURCE, token })).json);
    if (!page.more) return page.token;
    token = page.token;
  }
}
