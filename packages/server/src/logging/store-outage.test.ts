import { Caller, startValkey } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { openLog } from './open-log.ts';

type Line = Readonly<Record<string, unknown>>;

/** Background tasks ask the store all the time: the count holds their calls, too. */
it('[LOG-20] losing the store is one warning, its return another with the count of failed calls, and nothing between them', async () => {
  const valkey = await startValkey();
  onTestFinished(() => valkey.remove());
  const lines: Line[] = [];
  const log = openLog({ level: 'info', format: 'json', stream: { write: (text) => lines.push(JSON.parse(text)) } });
  const rules = { isComplete: false, slowMs: 600_000 };
  const server = await startTestServer({ store: valkey.address, requestLog: rules }, log);
  onTestFinished(() => server.close());
  const caller = new Caller(server.url, server.token);
  onTestFinished(() => caller.close());
  const events = () => lines.map(({ event }) => event).filter((event) => event !== 'store_warning');

  await valkey.kill();
  await expect.poll(events).toEqual(['store_lost']);
  for (let call = 0; call < 5; call++) expect((await caller.get('/rc/v1/users')).code).toBe('store_unavailable');
  // The log writes a request when its answer has been sent; the next request follows it.
  expect((await caller.get('/healthz')).status).toBe(200);
  await valkey.restart();
  await expect.poll(events).toEqual(['store_lost', 'store_back']);
  const [lost, back] = lines.filter(({ event }) => event !== 'store_warning');
  expect([lost, back]).toEqual([
    { level: 'warn', time: expect.any(String), event: 'store_lost', reason: expect.any(String) },
    { level: 'warn', time: expect.any(String), event: 'store_back', failed_calls: expect.any(Number) },
  ]);
  expect(back?.failed_calls).toBeGreaterThanOrEqual(5);
});

it('[LOG-20] while the store is lost lines with another reason are written, and afterwards all are', () => {
  const events: unknown[] = [];
  const stream = { write: (text: string) => events.push((JSON.parse(text) as Line).event) };
  const log = openLog({ level: 'info', format: 'json', stream });
  const storeDown = { reason: 'the store does not serve: it cannot be reached' };
  log.warn('before', storeDown);
  log.outage.begin('closed');
  log.warn('left_out', storeDown);
  log.warn('backend_failed', { reason: 'it answered 500' });
  log.info('no_reason');
  log.outage.end(1);
  log.warn('after', storeDown);
  expect(events).toEqual(['before', 'store_lost', 'backend_failed', 'no_reason', 'store_back', 'after']);
});
