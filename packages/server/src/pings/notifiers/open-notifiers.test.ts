import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PING_TARGET, settableClock } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PingConfig } from '../../config/ping-config.ts';
import { openNotifiers } from './open-notifiers.ts';
import { newVapidKeys } from './vapid.ts';

/** A configuration with only a webhook. */
function pingConfig(webhookUrl: string | null): PingConfig {
  return {
    webhookUrl,
    webhookSecret: `whsec_${Buffer.from('a secret of thirty-two bytes now').toString('base64')}`,
    apns: null,
    fcm: null,
    webPush: { subject: null, hosts: [], allowPrivate: false },
    caFile: null,
    ttlS: 60,
    concurrency: 1,
    ratePerS: 1_000,
    spreadPerS: 1_000,
    resultsRetentionS: 60,
    resultsMax: 1,
    pushNotifyDelayMs: 1,
  };
}

async function gatewayAnswering(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('push services', () => {
  it('[PING-43] pings that the webhook sends for another service wait while the webhook is down, and count for its rate', async () => {
    const ping = pingConfig(await gatewayAnswering(503));
    const clock = settableClock();
    const notifiers = openNotifiers({
      ping,
      vapidKeys: newVapidKeys(),
      live: null,
      clock,
      steadyClock: clock,
      jitter: () => 1,
    });
    onTestFinished(() => notifiers.close());
    const { gates } = notifiers;
    for (let taken = 0; taken < 999; taken++) expect(gates.fcm.take()).not.toBeTypeOf('number');
    expect([gates.apns.take(), gates.apns.take()]).toEqual([expect.any(Object), expect.any(Number)]);
    for (let call = 0; call < 5; call++) await notifiers.notifier.notify(PING_TARGET, { id: `${call}`, sources: [] });
    const areOpen = Object.fromEntries(Object.entries(gates).map(([service, { isOpen }]) => [service, isOpen]));
    expect(areOpen).toEqual({ apns: false, fcm: false, webhook: false, live: false, webpush: true });
  });
});
