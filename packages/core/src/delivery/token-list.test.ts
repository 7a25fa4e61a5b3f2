import { newTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';

it('[SESSION-17] tokens with a name are told from sessions of people and of devices, and pages hold each once', async () => {
  const { tidemark } = await newTidemark();
  const issue = async (name: string | null, client: string | null) => {
    const { id } = await tidemark.tokens.issue({ user: 'ada', name, client, scopes: ['device'], expiresAtMs: null });
    return id;
  };
  await tidemark.clients.register('ada', { client_id: 'c1', device_platform: 'web' });
  const program = await issue('erp', null);
  const person = await issue(null, null);
  const device = await issue(null, 'c1');
  const list = async (call: Parameters<typeof tidemark.listings.tokens.page>[0]) =>
    (await tidemark.listings.tokens.page(call)).tokens.map(({ id }) => id);
  expect(await list({ kind: 'named' })).toEqual([program]);
  expect(await list({ kind: 'session' })).toEqual([person, device].sort());
  for (const text of ['C1', 'Web']) expect(await list({ text })).toEqual([device]);
  const seen: string[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page = await tidemark.listings.tokens.page({ limit: 1, ...(after === undefined ? {} : { after }) });
    seen.push(...page.tokens.map(({ id }) => id));
    after = page.next;
  }
  expect(seen).toEqual([program, person, device].sort());
});
