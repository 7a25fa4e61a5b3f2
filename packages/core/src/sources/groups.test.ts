import { newTidemark, refusalOf } from '@tidemark/testing';
import { expect, it } from 'vitest';

it('[GROUP-10] groups are listed with the number of their members, page by page', async () => {
  const { tidemark } = await newTidemark();
  const { groups } = tidemark;
  await groups.set('ada', ['north', 'north-east', 'south']);
  await groups.set('bob', ['north', 'west']);
  const [north, northEast, south, west] = [
    { group: 'north', members: 2 },
    { group: 'north-east', members: 1 },
    { group: 'south', members: 1 },
    { group: 'west', members: 1 },
  ];
  expect(await groups.details()).toEqual([north, northEast, south, west]);
  expect(await groups.details({ limit: 2 })).toEqual([north, northEast]);
  expect(await groups.details({ limit: 2, after: 'north-east' })).toEqual([south, west]);
  await groups.set('bob', ['north-east']);
  expect(await groups.details()).toEqual([{ ...north, members: 1 }, { ...northEast, members: 2 }, south]);
  expect(await refusalOf(groups.details({ limit: 0 }))).toBe('invalid_value');
});
