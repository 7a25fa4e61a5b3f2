import { describe, expect, it } from 'vitest';
import { BLANK_DEVICE, type Device } from '../devices/client-record.ts';
import { chooseDevices, type PingDevice } from './choose-devices.ts';

function device(
  client: string,
  over: Partial<Device> = {},
  times: { sync?: number | null; made?: number } = {},
): PingDevice {
  const reachable = { ...BLANK_DEVICE, device_type: 'android', device_pin: `pin of ${client}` } as const;
  const { sync = null, made = 1 } = times;
  const record = { user: 'ada', device: { ...reachable, ...over }, createdAtMs: made, lastSyncMs: sync, restarts: {} };
  return { client, record };
}

function choice(...devices: readonly PingDevice[]) {
  const { chosen, skipped } = chooseDevices(devices);
  return [
    chosen.map(({ client }) => client).sort(),
    Object.fromEntries(skipped.map(({ client_id, reason }) => [client_id, reason])),
  ];
}

describe('the devices a ping goes to', () => {
  it('[PING-6] devices that cannot be reached are skipped, each with a reason', () => {
    const devices = [
      device('good'),
      device('typeless', { device_type: null }),
      device('off', { device_type: 'none' }),
      device('pinless', { device_pin: null }),
      device('blank', { device_pin: '' }),
      device('nothing', { device_type: null, device_pin: null }),
    ];
    expect(choice(...devices)).toEqual([
      ['good'],
      {
        typeless: 'no_device_type',
        off: 'device_type_none',
        pinless: 'no_device_pin',
        blank: 'no_device_pin',
        nothing: 'no_device_type',
      },
    ]);
  });

  it('[PING-60] devices without an address are reached while they listen, and those that want no pings are not', () => {
    const devices = [
      device('typeless', { device_type: null }),
      device('pinless', { device_pin: null }),
      device('away', { device_pin: null }),
      device('off', { device_type: 'none', device_pin: null }),
    ];
    const { chosen, skipped } = chooseDevices(devices, new Set(['typeless', 'pinless', 'off']));
    expect([chosen.map(({ client }) => client).sort(), skipped]).toEqual([
      ['pinless', 'typeless'],
      [
        { client_id: 'away', reason: 'no_device_pin' },
        { client_id: 'off', reason: 'device_type_none' },
      ],
    ]);
  });

  it('[PING-7] of several registrations of one phone and app, the one that synced last gets the ping', () => {
    const same = { phone_id: 'p', device_app_id: 'a' };
    const devices = [
      device('old', same, { sync: 5 }),
      device('new', same, { sync: 9 }),
      device('never', same),
      device('other app', { ...same, device_app_id: 'b' }),
      device('other phone', { ...same, phone_id: 'q' }),
    ];
    for (const order of [devices, [...devices].reverse()]) {
      expect(choice(...order)).toEqual([['new', 'other app', 'other phone'], { old: 'duplicate', never: 'duplicate' }]);
    }
  });

  it('[PING-7] registrations without a phone id or app name are compared by address', () => {
    const pin = { device_pin: 'x' };
    const devices = [
      device('nameless 1', pin, { sync: 1 }),
      device('nameless 2', { ...pin, phone_id: 'p' }, { sync: 2 }),
      device('named', { ...pin, phone_id: 'p', device_app_id: 'a' }, { sync: 3 }),
      device('named too', { ...pin, phone_id: 'p', device_app_id: 'b' }, { sync: 0 }),
      device('elsewhere', { device_pin: 'y' }),
    ];
    expect(choice(...devices)).toEqual([
      ['elsewhere', 'named', 'named too'],
      { 'nameless 1': 'duplicate', 'nameless 2': 'duplicate' },
    ]);
    const [nameless1, , , namedToo] = devices;
    if (nameless1 === undefined || namedToo === undefined) throw new Error('no devices');
    expect(choice(nameless1, namedToo)).toEqual([['nameless 1'], { 'named too': 'duplicate' }]);
  });

  it('[PING-7] phone ids and app names that form the same text when joined are different', () => {
    const devices = [
      device('1', { phone_id: 'a', device_app_id: 'b:c' }),
      device('2', { phone_id: 'a:b', device_app_id: 'c' }),
      device('3', { phone_id: 'a","b', device_app_id: 'c' }),
      device('4', { phone_id: 'a', device_app_id: 'b","c' }),
    ];
    expect(choice(...devices)).toEqual([['1', '2', '3', '4'], {}]);
  });

  it('[PING-7] of two registrations that never synced, the later one gets the ping, unless it cannot be reached', () => {
    const same = { phone_id: 'p', device_app_id: 'a' };
    const earlier = device('earlier', same, { made: 1 });
    const later = device('later', same, { made: 2 });
    const dumb = device('dumb', { ...same, device_pin: null }, { sync: 99 });
    expect(choice(earlier, dumb, later)).toEqual([['later'], { earlier: 'duplicate', dumb: 'no_device_pin' }]);
  });
});
