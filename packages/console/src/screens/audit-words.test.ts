import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ACTION_WORDS, actorWords, resultWords, searchOf } from './audit-words.ts';

it('[CONSOLE-80] a closed circuit breaker is good, an open one bad, and every refusal bad', () => {
  const toneOf = (action: string, result: string) => resultWords({ action, result, count: 1 }).tone;
  const breaker = ['closed', 'trying', 'open'].map((state) => toneOf('backend.breaker', state));
  expect(breaker).toEqual(['good', 'warn', 'bad']);
  expect([toneOf('login', 'ok'), toneOf('login', 'invalid_credentials'), toneOf('login', 'closed')]).toEqual([
    'good',
    'bad',
    'bad',
  ]);
  expect(resultWords({ action: 'login', result: 'invalid_credentials', count: 3 }).words).toBe(
    'invalid_credentials × 3',
  );
});

it('[CONSOLE-80] what the server did itself is told from what an unknown caller did, or several', () => {
  expect([
    actorWords({ actor: 'ada', address: '::1' }),
    actorWords({ actor: null, address: '::1' }),
    actorWords({ actor: null, address: '' }),
    actorWords({ actor: null, address: '*' }),
  ]).toEqual(['ada', 'nobody known', 'Tidemark itself', 'several, counted together']);
});

it('[CONSOLE-80] the audit trail is filtered by whole days of this place, with the last day', () => {
  const {
    from = '',
    to = '',
    ...others
  } = searchOf({ actor: 'ada', action: '', from: '2030-01-31', to: '2030-01-31' });
  expect(others).toEqual({ actor: 'ada' });
  expect([new Date(from), new Date(to)]).toEqual([new Date(2030, 0, 31), new Date(2030, 1, 1)]);
  expect(searchOf({ from: 'soon' })).toEqual({});
});

it('[CONSOLE-125] every action that a route writes into the audit trail has words, and can be filtered by', () => {
  const folder = new URL('../../../server/src/routes/', import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const texts = files.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const actions = texts.flatMap((text) => [...text.matchAll(/\baudit: '([^']+)'/g)].map(([, action = '']) => action));
  expect(actions.length).toBeGreaterThan(30);
  expect(actions.filter((action) => !Object.hasOwn(ACTION_WORDS, action))).toEqual([]);
});
