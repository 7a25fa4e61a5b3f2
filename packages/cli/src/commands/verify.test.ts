import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '@tidemark/core';
import { groupPartition, type PartitionKey, sharedPartition, userPartition } from '@tidemark/core';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { MARK_FILE } from '../local/data-folder.ts';
import { keepingMark, rowOf, shown } from './verify.ts';

const rest = { problem: 'wrong_size', detail: 'it is not' } as const;
const found = (partition: PartitionKey): Finding => ({ partition, ...rest });
const NORTH = groupPartition('Order', 'north');
const ANN = userPartition('Order', 'ann');

it('[CLI-24] verify shows a custom partition by its name, not by its internal key', () => {
  expect(shown(found(NORTH)).partition).toEqual({ source: 'Order', user: null, name: 'north' });
  expect(rowOf(found(NORTH))).toEqual({ source: 'Order', user: null, partition: 'north', ...rest });
  expect(shown(found(ANN)).partition).toEqual({ source: 'Order', user: 'ann' });
  expect(rowOf(found(ANN))).toEqual({ source: 'Order', user: 'ann', partition: null, ...rest });
  expect(rowOf(found(sharedPartition('Order')))).toEqual({ source: 'Order', user: null, partition: null, ...rest });
  expect(rowOf({ partition: null, ...rest })).toEqual({ source: null, user: null, partition: null, ...rest });
});

it('[BACKUP-52] a backup that is verified stays as old as it is, so that pruning takes no newer one for older', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, MARK_FILE);
  const mark = JSON.stringify({ product: 'tidemark', engine: 'embedded', format: 1, state: 'backup' });
  const madeAt = new Date('2030-01-31T03:00:00.000Z');
  writeFileSync(file, mark);
  utimesSync(file, madeAt, madeAt);
  await keepingMark(folder.path, async () => writeFileSync(file, mark.replace('backup', 'ready')));
  expect([readFileSync(file, 'utf8'), statSync(file).mtime]).toEqual([mark, madeAt]);
});
