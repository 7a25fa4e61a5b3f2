import type { Page } from '@tidemark/protocol';
import { pullPage } from '@tidemark/testing/kit';
import { type Fixture, SOURCE } from '../fixture.ts';

/** The token of a device that holds everything. That is recorded, and not by the pulls that are measured. */
export async function caughtUpToken({ tidemark, device }: Fixture): Promise<string> {
  for (let token: string | null = null; ; ) {
    const { json, noted } = await pullPage(tidemark, device, { source: SOURCE, token });
    await noted;
    const page = JSON.parse(json) as Page;
    if (page.token === token) return token;
    token = page.token;
  }
}
