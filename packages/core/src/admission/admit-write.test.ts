import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';

describe('admission of writes', () => {
  it('[ADMIT-3] a write to an unknown source or user is refused', async () => {
    const { tidemark } = await newTidemark();
    const objects = { 1: { a: 1 } };
    expect(await refusalOf(tidemark.objects.push({ source: 'Nope', user_id: 'ada', objects }))).toBe(
      'source_not_found',
    );
    expect(await refusalOf(tidemark.objects.push({ source: 'Order', user_id: 'eve', objects }))).toBe('user_not_found');
    for (const user_id of [undefined, null, 1, ['ada'], {}]) {
      expect(await refusalOf(tidemark.objects.push({ source: 'Order', user_id, objects }))).toBe('invalid_request');
    }
    for (const user_id of ['*', '', '__proto__', 'x'.repeat(256)]) {
      expect(await refusalOf(tidemark.objects.push({ source: 'Order', user_id, objects }))).toBe('invalid_name');
    }
    for (const source of ['*', '', 'x'.repeat(300)]) {
      expect(await refusalOf(tidemark.objects.push({ source, user_id: 'ada', objects }))).toBe('invalid_name');
    }
    expect(await refusalOf(tidemark.objects.push({ source: 7, user_id: 'ada', objects }))).toBe('invalid_request');
  });

  it('[ADMIT-4] an app source has one partition for all users, whichever user a write names', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ source: 'Product', objects: { 1: { a: 1 } } });
    await tidemark.objects.push({ source: 'Product', user_id: 'ada', objects: { 2: { a: 2 } } });
    const report = await tidemark.objects.push({ source: 'Product', user_id: 'nobody', objects: { 3: { a: 3 } } });
    expect(report).toEqual({ source: 'Product', user_id: null, changed: 1, unchanged: 0, seq: 3 });
    expect([...(await tidemark.objects.read({ source: 'Product', user_id: 'bob' })).keys()]).toEqual(['1', '2', '3']);
    expect(await refusalOf(tidemark.objects.push({ source: 'Product', user_id: '*', objects: {} }))).toBe(
      'invalid_name',
    );
  });

  it('[ADMIT-5] a write with one invalid object among many is refused and changes nothing', async () => {
    const { tidemark } = await newTidemark();
    const target = { source: 'Order', user_id: 'ada' };
    await tidemark.objects.push({ ...target, objects: { kept: { a: 1 } } });
    const before = await tidemark.objects.partition(target);
    const many: Record<string, unknown> = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`o${index}`, { n: index }]),
    );
    const bad = { ...many, last: { n: Number.NaN } };
    const calls = [
      tidemark.objects.push({ ...target, objects: bad }),
      tidemark.objects.fastInsert({ ...target, objects: bad }),
      tidemark.objects.fastUpdate({ ...target, delete_data: many, data: bad }),
      tidemark.objects.fastUpdate({ ...target, delete_data: bad, data: many }),
      tidemark.objects.fastDelete({ ...target, data: bad }),
      tidemark.objects.replace({ ...target, objects: bad, since: null }),
    ];
    for (const call of calls) expect(await refusalOf(call)).toBe('unsafe_number');
    expect(await refusalOf(tidemark.objects.pushDeletes({ ...target, objects: ['kept', ''] }))).toBe('invalid_name');
    expect(await tidemark.objects.partition(target)).toEqual(before);
  });
});
