import type { Bearer } from '@tidemark/core';
import { expect, it } from 'vitest';
import { ListSlots } from '../http/list-slots.ts';
import { JsonText, type RouteContext } from '../http/route.ts';
import { FILTERED_LISTS_PER_TOKEN_MAX } from '../limits.ts';
import { objectsRoute } from './documents.ts';

it('[LIST-8] filtered and sorted lists count for their token, and plain ones do not', async () => {
  const { handle } = objectsRoute('objects', {
    ...{ name: 'a source', id: 'OfSource', path: '/docs', params: {} },
    scopeOf: () => ({ kind: 'shared', source: 'Product' }),
  });
  const ends: (() => void)[] = [];
  let lists = 0;
  const listObjects = () => {
    if (++lists > FILTERED_LISTS_PER_TOKEN_MAX) return Promise.resolve('{}');
    return new Promise<string>((resolve) => ends.push(() => resolve('{}')));
  };
  const context = { lists: new ListSlots(), tidemark: { documents: { listObjects } } } as unknown as RouteContext;
  const list = (tokenHash: string, query: object) =>
    Promise.resolve(
      handle({
        ...{ context, query, params: {}, body: {}, accept: undefined, address: '127.0.0.1' },
        ...{ bearer: { tokenHash } as Bearer, request: {} as never, hasHungUp: () => false },
      }),
    );
  const queries = [{ filter: '{}' }, { sort: 'n' }];
  const running = Array.from({ length: FILTERED_LISTS_PER_TOKEN_MAX }, (_, index) =>
    list('one', queries[index % 2] ?? {}),
  );
  const outcomes = [...queries, { limit: '7' }].map((query) =>
    list('one', query).then(
      () => null,
      ({ code }) => code,
    ),
  );
  expect(await Promise.all(outcomes)).toEqual(['rate_limited', 'rate_limited', null]);
  expect(await list('another', { filter: '{}' })).toEqual(new JsonText('{}'));
  for (const end of ends) end();
  await Promise.all(running);
});
