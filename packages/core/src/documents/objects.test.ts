import { newTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';

it('[GROUP-16] a move tells the newest seqs of both groups', async () => {
  const { tidemark } = await newTidemark();
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await tidemark.objects.push({
    source: 'Visit',
    group: 'north',
    objects: { n1: { a: 1 }, n2: { a: 1 }, n3: { a: 1 } },
  });
  const moved = await tidemark.objects.move({
    source: 'Visit',
    from: 'north',
    to: 'south',
    objects: ['n1', 'n2', 'x'],
  });
  const report = { source: 'Visit', from: 'north', to: 'south', moved: 2, missing: 1, from_seq: 5, to_seq: 2 };
  expect(moved).toEqual(report);
});

it('[DOC-59] listeners hear of what was written to md that it was a document', async () => {
  const { tidemark } = await newTidemark();
  const causes: string[] = [];
  tidemark.events.on('committed', ({ cause }) => causes.push(cause));
  const scope = { kind: 'user', user: 'ada', source: 'Order' } as const;
  await tidemark.documents.write(scope, 'md', { data: { 1: { a: 1 } } });
  await tidemark.documents.write(scope, 'md', { data: { 2: { a: 1 } }, append: true });
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 3: { a: 1 } } });
  expect(causes).toEqual(['document', 'document', 'push']);
});
