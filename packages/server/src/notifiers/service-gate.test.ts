import type { PingOutcome, PingTarget } from '@tidemark/core';
import { settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { choosingNotifier } from './choosing-notifier.ts';
import { liveNotifier } from './live-notifier.ts';
import { failed } from './outcomes.ts';
import { ServiceGate } from './service-gate.ts';

const TARGET: PingTarget = {
  client: 'c',
  deviceType: 'ios',
  pushType: 'apns',
  devicePin: 'x',
  devicePort: null,
  appId: null,
};
const PING = { id: 'p', sources: [] };
const answering = (outcome: PingOutcome) => ({ notify: async () => outcome });

describe('the gate of a service', () => {
  it('[PING-42] lets so many through in a second, and says how long to wait for the next', () => {
    const clock = settableClock();
    const gate = new ServiceGate({ clock, dice: () => 1, perSecondMax: 10 });
    expect(Array.from({ length: 12 }, () => gate.take())).toEqual([...new Array(10).fill(0), 100, 100]);
    clock.advance(100);
    expect([gate.take(), gate.take()]).toEqual([0, 100]);
    gate.giveBack();
    expect([gate.take(), gate.take()]).toEqual([0, 100]);
    clock.advance(60_000);
    expect(Array.from({ length: 11 }, () => gate.take()).filter((waitMs) => waitMs === 0)).toHaveLength(10);
  });

  it('[PING-30] closes when its service is down, and not because of single devices', async () => {
    const clock = settableClock();
    const gate = new ServiceGate({ clock, dice: () => 1, perSecondMax: 1_000 });
    const fail = gate.watch(answering(failed('busy')));
    for (let count = 0; count < 20; count++) await fail.notify(TARGET, PING);
    expect([gate.isOpen, gate.take()]).toEqual([true, 0]);
    const down = gate.watch(answering(failed('down', { isServiceDown: true })));
    for (let count = 0; count < 5; count++) await down.notify(TARGET, PING);
    expect([gate.isOpen, gate.take()]).toEqual([false, 1_000]);
    clock.advance(1_000);
    expect([gate.take(), gate.take()]).toEqual([0, 200]);
    await gate.watch(answering({ status: 'accepted' })).notify(TARGET, PING);
    expect([gate.isOpen, gate.take()]).toEqual([true, 0]);
  });

  it('[PING-30] closes at once for as long as the service asks', async () => {
    const gate = new ServiceGate({ clock: settableClock(), dice: () => 1, perSecondMax: 1_000 });
    await gate.watch(answering(failed('quota', { isServiceDown: true, retryAfterMs: 60_000 }))).notify(TARGET, PING);
    expect(gate.take()).toBe(60_000);
  });
});

describe('choosing', () => {
  const named = (name: string) => answering(failed(name));
  const reasonOf = (outcome: PingOutcome) => ('reason' in outcome ? outcome.reason : outcome.status);

  it('[PING-39] each ping goes to the service of its device', async () => {
    const services = { apns: named('apns'), fcm: named('fcm'), webpush: named('webpush'), webhook: named('webhook') };
    const notifier = choosingNotifier(services);
    const types = ['apns', 'apns_sandbox', 'fcm', 'webpush', 'webhook'] as const;
    const chosen = await Promise.all(types.map((pushType) => notifier.notify({ ...TARGET, pushType }, PING)));
    expect(chosen.map(reasonOf)).toEqual(['apns', 'apns', 'fcm', 'webpush', 'webhook']);
  });

  it('[PING-39] to the webhook where its own is not configured, and nowhere when there is none', async () => {
    expect(reasonOf(await choosingNotifier({ webhook: named('webhook') }).notify(TARGET, PING))).toBe('webhook');
    expect(await choosingNotifier({}).notify(TARGET, PING)).toEqual({
      status: 'failed',
      reason: 'apns is not configured',
      retryAfterMs: null,
      isFinal: true,
    });
  });

  it('[PING-29] a device that only has a connection, and is not there, is not waited for', async () => {
    const notifier = liveNotifier({ ping: (client) => client === 'here' });
    expect(await notifier.notify({ ...TARGET, client: 'here', pushType: 'live' }, PING)).toEqual({ status: 'sent' });
    expect(await notifier.notify({ ...TARGET, pushType: 'live' }, PING)).toMatchObject({
      isFinal: true,
      reason: 'the device is not connected',
    });
  });
});
