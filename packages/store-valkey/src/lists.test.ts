import { startValkey, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAddress } from './address.ts';
import { Link } from './link.ts';
import { listArgs, longListArgs } from './lists.ts';
import { listOf, textOf } from './reply.ts';
import { lua, script } from './scripts/script.ts';

const echo = script('echo', 'reads', lua`return take_list()`);
let server: ValkeyServer;
let link: Link;

beforeAll(async () => {
  server = await startValkey({ settings: { appendonly: 'no' } });
  const address = readAddress(server.address);
  if (address === null) throw new Error('the kit gave no address');
  // A loaded machine takes long for the long list, and nothing here is about that.
  link = await Link.open({ address, answerMs: 300_000 });
});

afterAll(async () => {
  link.close();
  await server.remove();
});

describe('lists', () => {
  it.each([0, 1, 16, 17, 1_000, 1_001, 120_000])('[VALKEY-16] of %i members arrive as they are', async (count) => {
    const list = Array.from({ length: count }, (_, index) => (index % 7 === 0 ? '' : `${index} é\0\u{1f600}`));
    for (const args of [listArgs(list), await longListArgs(list, (member) => member)]) {
      const replies = listOf(await link.run(echo, [], args));
      expect(replies.map((reply) => textOf(reply))).toEqual(list);
    }
  });
});
