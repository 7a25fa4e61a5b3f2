import type { Source } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { attributesOf, changesOf, formOf, NEW_SOURCE, problemsOf } from './source-attributes.ts';

it('[CONSOLE-83] the form of a source becomes its attributes, with references by line and empty queues as none', () => {
  const form = { ...NEW_SOURCE, adapter: ' backend ', poll: '60', cudQueue: 'orders' };
  expect(attributesOf({ ...form, references: 'customer_id: Customer\n\n a:b : Part ' })).toEqual({
    ...{
      adapter: 'backend',
      poll_interval: 60,
      sync_type: 'incremental',
      conflicts: 'last_writer',
      read_only: false,
      push_notify: false,
    },
    ...{ queue: null, query_queue: null, cud_queue: 'orders' },
    references: { customer_id: 'Customer', 'a:b': 'Part' },
  });
  expect(attributesOf({ ...NEW_SOURCE, adapter: '' })).not.toHaveProperty('poll_interval');
});

it('[CONSOLE-83] the attributes of a source become its form, and the form the same attributes', () => {
  const attributes = {
    ...{
      adapter: 'backend',
      poll_interval: -1,
      sync_type: 'bulk_only',
      conflicts: 'detect',
      read_only: true,
      push_notify: true,
    },
    ...{ queue: 'all', query_queue: 'reads', cud_queue: null, references: { customer_id: 'Customer', 'a:b': 'Part' } },
  } as const;
  expect(attributesOf(formOf(attributes as unknown as Source))).toEqual(attributes);
});

it('[CONSOLE-83] the form of a source names the field that is wrong', () => {
  expect(problemsOf(NEW_SOURCE)).toEqual({});
  expect(problemsOf({ ...NEW_SOURCE, poll: '1.5', references: 'customer_id: Customer\nCustomer' })).toEqual({
    poll: 'A whole number of seconds, or -1.',
    references: '“Customer” is not an attribute, a colon and a source.',
  });
});

it('[CONSOLE-83] only attributes that differ are sent', () => {
  const before = { ...NEW_SOURCE, poll: '-1', references: 'a: A' };
  expect(changesOf(before, { ...before, adapter: 'backend' })).toEqual({ adapter: 'backend' });
  expect(changesOf(before, { ...before, references: '', queue: 'q' })).toEqual({ references: {}, queue: 'q' });
  expect(changesOf(before, before)).toEqual({});
});
