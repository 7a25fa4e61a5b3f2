import type { ConformanceCase } from '../conformance-case.ts';
import { ANY_TEXT } from '../matcher.ts';
import { del, each, get, json, path, post, refused } from '../requests.ts';
import { aSource, aUser, userView } from './furniture.ts';

const PING = '/rc/v1/users/ping';

function report(users: number, devices: number, more: Readonly<Record<string, unknown>> = {}) {
  return json({ ping_id: ANY_TEXT, users, devices, skipped: [], unknown_users: [], ...more });
}

export const pingCases: readonly ConformanceCase[] = [
  {
    rule: 'REST-25',
    title: 'a ping goes to the users named, and those nobody knows are listed',
    needs: [],
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [post(PING, { user_id: [name('anna')], sources: name('Order'), message: 'Grüße 😀', badge: 3 }), report(1, 0)],
      [post(PING, { user_id: name('anna'), sources: [name('Order')], vibrate: 1.5, api_token: 'x' }), report(1, 0)],
      [post(PING, { user_id: [name('eve'), name('anna')] }), report(1, 0, { unknown_users: [name('eve')] })],
    ],
  },
  {
    rule: 'REST-25',
    title: 'a ping that does not make sense is refused',
    needs: [],
    steps: (name) => [
      aUser(name('anna')),
      ...each(
        refused('source_not_found'),
        post(PING, { user_id: name('anna'), sources: name('Nowhere') }),
        post(PING, { user_id: name('anna'), sources: [name('Nowhere')] }),
      ),
      ...each(
        refused('invalid_value'),
        post(PING, { user_id: name('anna'), vibrate: 'x' }),
        post(PING, { user_id: name('anna'), badge: {} }),
      ),
      [post(PING, { message: 'to nobody' }), refused('invalid_request')],
    ],
  },
  {
    rule: 'REST-25',
    title: 'one ping reaches each device once, and says which it skips',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      {
        device: {
          user: name('anna'),
          attributes: { client_id: name('d1'), device_type: 'android', device_pin: name('p') },
        },
      },
      { device: { user: name('anna'), attributes: { client_id: name('d2') } } },
      [
        post(PING, { user_id: [name('anna'), name('anna')], message: 'hello' }),
        report(1, 1, { skipped: [{ client_id: name('d2'), reason: ANY_TEXT }] }),
      ],
    ],
  },
  {
    rule: 'REST-25',
    title: 'a user may be called ping',
    needs: [],
    steps: () => [
      aUser('ping'),
      [get(path`/rc/v1/users/${'ping'}`), json(userView('ping'))],
      [del(path`/rc/v1/users/${'ping'}`), json({ deleted: 'ping' })],
    ],
  },
];
