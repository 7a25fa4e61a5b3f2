import { TidemarkClient } from '@tidemark/backend';
import { LIST_MAX } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { type ExportedFact, factsAbout } from './export-user.ts';

type Query = Readonly<Record<string, string>>;

/** Answers calls as a server would that knows ada with the device c1. Routes that are not given answer nothing. */
async function exportOf(routes: Readonly<Record<string, (query: Query) => unknown>>): Promise<readonly ExportedFact[]> {
  const known: typeof routes = {
    '/rc/v1/users/ada': () => ({ login: 'ada' }),
    '/rc/v1/users/ada/groups': () => ({ groups: [] }),
    '/rc/v1/users/ada/clients': () => ['c1'],
    '/rc/v1/clients/c1': () => ({ client_id: 'c1' }),
    '/rc/v1/activity/history': () => ({ events: [], next: null }),
    ...routes,
  };
  let calls = 0;
  const fetch = async (address: string) => {
    const { pathname, searchParams } = new URL(address);
    if (++calls > 100) throw new Error(`it asks for ever, at last for ${address}`);
    return Response.json(known[pathname]?.(Object.fromEntries(searchParams)) ?? []);
  };
  const api = new TidemarkClient({ url: 'http://tidemark.test', platform: { fetch } });
  const facts: ExportedFact[] = [];
  for await (const fact of factsAbout(api, 'ada', { hasGroups: false })) facts.push(fact);
  return facts;
}

it('[PRIVACY-1] an export reads the results of a ping page by page, and writes those of the devices of the person', async () => {
  const sent = { ping_id: 'p1', at: 'T', sources: ['Diary'] };
  const result = (client_id: string) => ({ client_id, status: 'sent' });
  const others = Array.from({ length: LIST_MAX }, (_, index) => result(`b${index}`));
  const facts = await exportOf({
    '/rc/v1/pings': () => [{ ...sent, user: 'admin' }],
    '/rc/v1/pings/p1': ({ after }) => ({ results: after === `b${LIST_MAX - 1}` ? [result('c1')] : others }),
  });
  expect(facts.filter(({ kind }) => kind === 'ping')).toEqual([{ kind: 'ping', ping: sent, result: result('c1') }]);
});

it('[PRIVACY-1] an export writes all events of the person and of their devices, each once', async () => {
  const [own, older, ofDevice] = [
    { kind: 'pull', user_id: 'ada', client_id: 'c1' },
    { kind: 'login', user_id: 'ada', client_id: null },
    { kind: 'refusal', user_id: null, client_id: 'c1' },
  ];
  const facts = await exportOf({
    '/rc/v1/activity/history': ({ user_id, after }) => {
      if (user_id === undefined) return { events: [own, ofDevice], next: null };
      return after === undefined ? { events: [own], next: 'place' } : { events: [older], next: null };
    },
  });
  const events = facts.filter(({ kind }) => kind === 'activity').map(({ event }) => event);
  expect(events).toEqual([own, older, ofDevice]);
});
