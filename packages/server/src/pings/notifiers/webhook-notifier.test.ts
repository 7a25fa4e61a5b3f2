import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PingTarget } from '@tidemark/core';
import { retryAfterMs } from '@tidemark/protocol';
import { settableClock } from '@tidemark/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Timers } from '../../jobs/timers.ts';
import { signWebhook } from '../../outbound/sign-webhook.ts';
import { type WebhookNotifierParts, webhookNotifier } from './webhook-notifier.ts';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes now').toString('base64')}`;
const TARGET: PingTarget = {
  client: 'c1',
  deviceType: 'android',
  pushType: 'fcm',
  devicePin: 'the pin',
  devicePort: '80',
  appId: null,
};
const PING = { id: 'abc_0', sources: ['Order'], message: 'Grüße 💧', badge: 3, vibrateS: 0.5 };

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (response: ServerResponse) => void;

const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(body);

let server: Server;
let url: string;
let received: Received[];
let answer: Answer;

beforeEach(async () => {
  received = [];
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    received.push({ method: request.method, headers: request.headers, body });
    if (request.url === '/elsewhere') response.writeHead(200).end();
    else answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=private`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const clock = settableClock();
const notify = (parts: Partial<WebhookNotifierParts> = {}) =>
  webhookNotifier({ url, secret: SECRET, clock, ...parts }).notify(TARGET, PING);

/** Verifies the signature as a receiver does, independent of the code that signs. */
function isGenuine({ headers, body }: Received, key: Buffer): boolean {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  const [version, given = ''] = String(headers['webhook-signature']).split(',');
  return version === 'v1' && timingSafeEqual(Buffer.from(given, 'base64'), expected);
}

/** The sample in the documentation: TARGET and PING in the format of the wire. */
function sampleInDocs(): unknown {
  const page = readFileSync(new URL('../../../../../docs/operating/pings.md', import.meta.url), 'utf8');
  const [, sample = ''] = /## Your own gateway.*?```json\n(.*?)```/s.exec(page) ?? [];
  return JSON.parse(sample);
}

describe('the webhook notifier', () => {
  it('[PING-12] the webhook gets the ping and its target, signed as defined by Standard Webhooks', async () => {
    answer = status(200, {}, '{"ok":true}');
    expect(await notify()).toEqual({ status: 'accepted' });
    const [first] = received;
    if (first === undefined) throw new Error('nothing was received');
    expect(first.method).toBe('POST');
    expect(first.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'abc_0',
      'webhook-timestamp': '1700000000',
    });
    expect(isGenuine(first, Buffer.from('a secret of thirty-two bytes now'))).toBe(true);
    expect(isGenuine({ ...first, body: `${first.body} ` }, Buffer.from('a secret of thirty-two bytes now'))).toBe(
      false,
    );
    expect(JSON.parse(first.body)).toEqual(sampleInDocs());
  });

  it('[PING-12] a secret that is not base64 stands for its bytes, and the example of the standard matches', async () => {
    answer = status(204);
    await notify({ secret: 'plain words' });
    expect(received.map((message) => isGenuine(message, Buffer.from('plain words')))).toEqual([true]);
    const example = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1614265330, body: '{"test": 2432232314}' };
    expect(signWebhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', example)).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('[PING-13] 410 removes the address, a refusal of the content is final, and all else is retried', async () => {
    const outcomes: unknown[] = [];
    for (const code of [410, 400, 401, 404, 413, 422, 429, 500, 503]) {
      answer = status(code);
      outcomes.push([code, await notify()]);
    }
    const failed = (code: number, isFinal: boolean, more = {}) => [
      code,
      { status: 'failed', reason: `the webhook answered ${code}`, retryAfterMs: null, isFinal, ...more },
    ];
    const down = (code: number) => failed(code, false, { isServiceDown: true });
    expect(outcomes).toEqual([
      [410, { status: 'retired', reason: 'the webhook says that the device is gone' }],
      failed(400, true),
      failed(401, false),
      failed(404, false),
      failed(413, true),
      failed(422, true),
      down(429),
      down(500),
      down(503),
    ]);
  });

  it('[PING-13] Retry-After is respected', async () => {
    answer = status(429, { 'retry-after': '120' });
    expect(await notify()).toMatchObject({ status: 'failed', retryAfterMs: 120_000 });
    const later = new Date(clock.nowMs() + 30_000).toUTCString();
    expect(['5', later, 'soon', '-1', '99999999999', null].map((text) => retryAfterMs(text, clock.nowMs()))).toEqual([
      5_000,
      30_000,
      null,
      null,
      86_400_000,
      null,
    ]);
    expect(retryAfterMs(new Date(0).toUTCString(), clock.nowMs())).toBe(0);
  });

  it('[PING-14] redirects are not followed', async () => {
    for (const code of [301, 302, 303, 307, 308]) {
      answer = status(code, { location: '/elsewhere' });
      expect(await notify()).toMatchObject({ status: 'failed', isFinal: false });
    }
    expect(received.length).toBe(5);
  });

  it('[PING-14] a receiver that does not answer, or not to the end, is given up', async () => {
    let timeIsUp: () => void = () => undefined;
    const timers: Timers = {
      after: (_delayMs, callback) => {
        timeIsUp = callback;
        return () => undefined;
      },
    };
    const lost = { isServiceDown: true, isAnswerLost: true };
    const silent = { status: 'failed', reason: 'no answer in 10000 ms', retryAfterMs: null, isFinal: false, ...lost };
    answer = () => timeIsUp();
    expect(await notify({ timers })).toEqual(silent);
    answer = (response) => void response.writeHead(200).write('and then', () => timeIsUp());
    expect(await notify({ timers })).toEqual(silent);
  });

  it('[PING-14] an endless answer is cut off', async () => {
    let sent = 0;
    answer = (response) => {
      const chunk = Buffer.alloc(4_096);
      const more = () => {
        if (response.destroyed) return;
        sent += chunk.length;
        response.write(chunk, () => setImmediate(more));
      };
      response.writeHead(200);
      more();
    };
    expect(await notify()).toEqual({ status: 'accepted' });
    expect(sent).toBeLessThan(50_000_000);
  });

  it('[PING-14] a failure reveals neither the URL nor the address of the device', async () => {
    answer = (response) => response.destroy();
    const cut = await notify();
    expect(cut).toMatchObject({ status: 'failed', isFinal: false, isServiceDown: true, isAnswerLost: true });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const refused = await notify();
    expect(refused).toMatchObject({ status: 'failed', reason: 'no connection: ECONNREFUSED', isServiceDown: true });
    expect(refused).not.toHaveProperty('isAnswerLost');
    expect(JSON.stringify([refused, cut])).not.toMatch(/private|the pin|127\.0\.0\.1/);
  });
});
