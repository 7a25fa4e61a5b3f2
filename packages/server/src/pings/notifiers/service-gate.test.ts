import type { PingOutcome } from '@tidemark/core';
import { PING_TARGET, settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { liveNotifier } from './live-notifier.ts';
import { failed } from './notifier.ts';
import { choosingNotifier } from './open-notifiers.ts';
import { ServiceGate } from './service-gate.ts';

const PING = { id: 'p', sources: [] };
/** Returns the results of consecutive requests for a permit. */
const takes = (gate: ServiceGate, count = 1) =>
  Array.from({ length: count }, () => {
    const place = gate.take();
    return typeof place === 'number' ? place : 'place';
  });
const answering = (outcome: PingOutcome) => ({ notify: async () => outcome });

describe('the gate of a service', () => {
  it('[PING-42] the gate admits a number of pings per second, and says how long to wait for the next', () => {
    const clock = settableClock();
    const gate = new ServiceGate({ clock, jitter: () => 1, perSecondMax: 10 });
    expect(takes(gate, 12)).toEqual([...new Array(10).fill('place'), 100, 100]);
    clock.advance(100);
    const place = gate.take();
    expect(takes(gate)).toEqual([100]);
    if (typeof place !== 'number') place.giveBack();
    expect(takes(gate, 2)).toEqual(['place', 100]);
    clock.advance(60_000);
    expect(takes(gate, 11).filter((taken) => taken === 'place')).toHaveLength(10);
  });

  it('[PING-30] the gate closes when its service is down, and not because of single devices', async () => {
    const clock = settableClock();
    const gate = new ServiceGate({ clock, jitter: () => 1, perSecondMax: 1_000 });
    const fail = gate.watch(answering(failed('busy')));
    for (let count = 0; count < 20; count++) await fail.notify(PING_TARGET, PING);
    expect([gate.isOpen, ...takes(gate)]).toEqual([true, 'place']);
    const down = gate.watch(answering(failed('down', { isServiceDown: true })));
    for (let count = 0; count < 5; count++) await down.notify(PING_TARGET, PING);
    expect([gate.isOpen, ...takes(gate)]).toEqual([false, 1_000]);
    clock.advance(1_000);
    expect(takes(gate, 2)).toEqual(['place', 200]);
    await gate.watch(answering({ status: 'accepted' })).notify(PING_TARGET, PING);
    expect([gate.isOpen, ...takes(gate)]).toEqual([true, 'place']);
  });

  it('[PING-30] calls that were under way when the gate closed do not open it', async () => {
    const clock = settableClock();
    const gate = new ServiceGate({ clock, jitter: () => 1, perSecondMax: 1_000 });
    const answers: ((outcome: PingOutcome) => void)[] = [];
    const slow = gate.watch({ notify: () => new Promise((resolve) => answers.push(resolve)) });
    const late = [slow.notify(PING_TARGET, PING), slow.notify(PING_TARGET, PING)];
    const down = gate.watch(answering(failed('down', { isServiceDown: true })));
    for (let count = 0; count < 5; count++) await down.notify(PING_TARGET, PING);
    clock.advance(1_000);
    expect(takes(gate)).toEqual(['place']);
    answers[0]?.({ status: 'accepted' });
    answers[1]?.(failed('down', { isServiceDown: true }));
    await Promise.all(late);
    expect([gate.isOpen, ...takes(gate)]).toEqual([false, 200]);
  });

  it('[PING-30] the gate closes at once for as long as the service asks', async () => {
    const gate = new ServiceGate({ clock: settableClock(), jitter: () => 1, perSecondMax: 1_000 });
    await gate
      .watch(answering(failed('quota', { isServiceDown: true, retryAfterMs: 60_000 })))
      .notify(PING_TARGET, PING);
    expect(takes(gate)).toEqual([60_000]);
  });
});

describe('the choice of the service', () => {
  const named = (name: string) => answering(failed(name));
  const reasonOf = (outcome: PingOutcome) => ('reason' in outcome ? outcome.reason : outcome.status);

  it('[PING-39] each ping goes to the push service of its device', async () => {
    const services = { apns: named('apns'), fcm: named('fcm'), webpush: named('webpush'), webhook: named('webhook') };
    const notifier = choosingNotifier(services);
    const types = ['apns', 'apns_sandbox', 'fcm', 'webpush', 'webhook'] as const;
    const chosen = await Promise.all(types.map((pushType) => notifier.notify({ ...PING_TARGET, pushType }, PING)));
    expect(chosen.map(reasonOf)).toEqual(['apns', 'apns', 'fcm', 'webpush', 'webhook']);
  });

  it('[PING-39] a ping goes to the webhook if its service is not configured, and is refused if there is none', async () => {
    expect(reasonOf(await choosingNotifier({ webhook: named('webhook') }).notify(PING_TARGET, PING))).toBe('webhook');
    expect(await choosingNotifier({}).notify(PING_TARGET, PING)).toEqual({
      status: 'failed',
      reason: 'apns is not configured',
      retryAfterMs: null,
      isFinal: true,
    });
  });

  it('[PING-29] a device without a push service that is not connected is refused at once', async () => {
    const notifier = liveNotifier({ ping: (client) => client === 'here' });
    expect(await notifier.notify({ ...PING_TARGET, client: 'here', pushType: 'live' }, PING)).toEqual({
      status: 'sent',
    });
    expect(await notifier.notify({ ...PING_TARGET, pushType: 'live' }, PING)).toMatchObject({
      isFinal: true,
      reason: 'the device is not connected',
    });
  });
});
