import type { ConformanceCase } from '../conformance-case.ts';
import { ANY_TEXT, keep, listWith, MOMENT, same } from '../matcher.ts';
import { del, each, get, json, path, post, refused } from '../requests.ts';
import { aSource, aUser, userView } from './fixtures.ts';

const PING = '/rc/v1/users/ping';

function report(users: number, devices: number, more: Readonly<Record<string, unknown>> = {}) {
  return json({ ping_id: ANY_TEXT, users, devices, skipped: [], unknown_users: [], ...more });
}

/** Returns a ping to a user without devices. */
const SENT = {
  ping_id: ANY_TEXT,
  at: MOMENT,
  actor: ANY_TEXT,
  cause: 'call',
  sources: [],
  has_message: true,
  users: 1,
  devices: 0,
  skipped: 0,
  pending: 0,
  accepted: 0,
  sent: 0,
  retired: 0,
  failed: 0,
  gone: 0,
  collapsed: 0,
  repeated: 0,
};

export const pingCases: readonly ConformanceCase[] = [
  {
    rule: 'REST-25',
    title: 'a ping goes to the named users, and unknown ones are listed',
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
    title: 'an invalid ping is refused',
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
    title: 'one ping reaches each device once, and lists the devices it skips',
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
    rule: 'REST-35',
    title: 'the result of a ping can be read, and an unknown ping is refused',
    needs: [],
    steps: (name) => [
      aUser(name('anna')),
      [post(PING, { user_id: name('anna'), message: 'hello' }), report(1, 0, { ping_id: keep('ping', ANY_TEXT) })],
      [get('/rc/v1/pings/{ping}'), json({ ...SENT, ping_id: same('ping'), results: [] })],
      [get('/rc/v1/system/web_push_key'), json({ public_key: ANY_TEXT })],
      [get('/rc/v1/pings?limit=10'), json(listWith(SENT))],
      ...each(refused('ping_not_found'), get(`/rc/v1/pings/${'0'.repeat(31)}`), get('/rc/v1/pings/x')),
      ...each(refused('invalid_value'), get('/rc/v1/pings?after=x'), get('/rc/v1/pings?limit=0')),
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
