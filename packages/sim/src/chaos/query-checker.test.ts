import { expect, it } from 'vitest';
import { QueryChecker } from './query-checker.ts';

it('[CHAOS-8] two queries of a partition at once are reported, and those that begin while nobody looks are not', () => {
  const queries = new QueryChecker();
  const unseen = [queries.begin('Stock'), queries.begin('Stock')];
  queries.watch();
  queries.begin('Stock')();
  for (const end of unseen) end();
  const end = queries.begin('Stock');
  queries.begin('Task of anna');
  expect(queries.problems).toEqual([]);
  queries.begin('Stock')();
  end();
  queries.begin('Stock');
  queries.pause();
  queries.begin('Stock');
  expect([queries.problems, queries.count]).toEqual([['2 queries of Stock at once'], 8]);
});
