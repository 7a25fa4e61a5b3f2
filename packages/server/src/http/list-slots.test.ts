import { expect, it } from 'vitest';
import { FILTERED_LISTS_MAX, FILTERED_LISTS_PER_TOKEN_MAX, FILTERED_LISTS_RETRY_AFTER_S } from '../limits.ts';
import { ListSlots } from './list-slots.ts';

it('[LIST-8] a token has its share of the filtered lists under way, and all tokens together theirs', async () => {
  const slots = new ListSlots();
  const ends: (() => void)[] = [];
  const begin = (token: string) => slots.run(token, () => new Promise<void>((resolve) => ends.push(resolve)));
  const refused = (token: string) => slots.run(token, async () => undefined).then(() => null, readRefusal);
  const running = Array.from({ length: FILTERED_LISTS_PER_TOKEN_MAX }, () => begin('one'));
  expect(await refused('one')).toEqual({ code: 'rate_limited', retryAfterS: FILTERED_LISTS_RETRY_AFTER_S });
  for (let others = FILTERED_LISTS_PER_TOKEN_MAX; others < FILTERED_LISTS_MAX; others++) {
    running.push(begin(`other ${others}`));
  }
  expect(await refused('another')).toEqual({ code: 'overloaded', retryAfterS: FILTERED_LISTS_RETRY_AFTER_S });
  for (const end of ends) end();
  await Promise.all(running);
  expect(await Promise.all([refused('one'), refused('another')])).toEqual([null, null]);
});

function readRefusal({ code, retryAfterS }: { readonly code: string; readonly retryAfterS: number }) {
  return { code, retryAfterS };
}
