import { refusalOf } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { FILE_TRANSFERS_MAX, FILE_TRANSFERS_PER_CALLER_MAX } from '../limits.ts';
import { TransferSlots } from './transfer-slots.ts';

it('[FILES-101] all callers have so many transfers at once and no more, and one that has ended makes room', async () => {
  const slots = new TransferSlots();
  const releases = Array.from({ length: FILE_TRANSFERS_MAX }, (_, number) =>
    slots.take(`caller ${Math.floor(number / FILE_TRANSFERS_PER_CALLER_MAX)}`),
  );
  const takeOne = async () => slots.take('one more');
  expect(await refusalOf(takeOne())).toBe('overloaded');
  releases[0]?.();
  await takeOne();
  expect(await refusalOf(takeOne())).toBe('overloaded');
});
