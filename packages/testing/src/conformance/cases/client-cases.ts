import type { ConformanceCase } from '../conformance-case.ts';
import { keep, listWith, MOMENT, same, TOKEN, TOKEN_ID } from '../matcher.ts';
import { AS_JSON, del, each, get, json, path, post, refused, text, withoutToken } from '../requests.ts';
import { aSource, aUser, clientView, userView } from './fixtures.ts';

function client(id: string): string {
  return path`/rc/v1/clients/${id}`;
}

function clientDoc(id: string, source: string, doc: string): string {
  return path`/rc/v1/clients/${id}/sources/${source}/docs/${doc}`;
}

function docnames(id: string, source: string): string {
  return path`/rc/v1/clients/${id}/sources/${source}/docnames`;
}

function ownClient(user: string, id: string): string {
  return path`/rc/v1/users/${user}/clients/${id}`;
}

const DEVICE = {
  device_type: 'android',
  device_pin: 'pin-of-a-device',
  device_port: '100',
  device_push_type: 'fcm',
  device_app_id: 'app',
  device_app_version: '1.2',
  phone_id: 'phone',
};

const withDevices: readonly ConformanceCase[] = [
  {
    rule: 'REST-9',
    title: 'the devices of a user are listed by id and counted',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([])],
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      { device: { user: name('anna'), attributes: { client_id: name('d2') } } },
      { device: { user: name('bob'), attributes: { client_id: name('d3') } } },
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([name('d1'), name('d2')])],
      [get(path`/rc/v1/users/${name('anna')}`), json(userView(name('anna'), {}, 2))],
      [get(path`/rc/v1/users/${name('nobody')}/clients`), refused('user_not_found')],
    ],
  },
  {
    rule: 'REST-9',
    title: 'a device is deleted by its own user only',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      ...each(
        refused('client_not_found'),
        del(ownClient(name('bob'), name('d1'))),
        del(ownClient(name('anna'), name('d2'))),
      ),
      [del(ownClient(name('nobody'), name('d1'))), refused('user_not_found')],
      [get(client(name('d1'))), json(clientView(name('d1'), name('anna')))],
      [del(ownClient(name('anna'), name('d1'))), json({ deleted: name('d1') })],
      ...each(refused('client_not_found'), get(client(name('d1'))), del(ownClient(name('anna'), name('d1')))),
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([])],
    ],
  },
  {
    rule: 'REST-9',
    title: 'deleting a user deletes the devices',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      [del(path`/rc/v1/users/${name('anna')}`), json({ deleted: name('anna') })],
      [get(client(name('d1'))), refused('client_not_found')],
    ],
  },
  {
    rule: 'REST-13',
    title: 'a device is returned with all its attributes; its pin only to administrators',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      { device: { user: name('anna'), attributes: { client_id: name('d1'), ...DEVICE } } },
      [get(client(name('d1'))), json(clientView(name('d1'), name('anna'), DEVICE))],
      [
        post('/rc/v1/tokens', { name: name('reader'), scopes: ['read'] }),
        json({
          token: keep('reader', TOKEN),
          id: TOKEN_ID,
          user: same('login'),
          name: name('reader'),
          scopes: ['read'],
          client: null,
          created_at: MOMENT,
          expires_at: null,
        }),
      ],
      [
        withoutToken(get(client(name('d1')), { 'x-sync-api-token': '{reader}' })),
        json(clientView(name('d1'), name('anna'), { ...DEVICE, device_pin: '***' })),
      ],
    ],
  },
  {
    rule: 'REST-13',
    title: 'the documents of a device and source are set, appended, listed and read',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      [
        post(clientDoc(name('d1'), name('Order'), 'notes'), { data: 'a' }),
        json({ doc: 'notes', type: 'text', size: 1 }),
      ],
      [
        post(clientDoc(name('d1'), name('Order'), 'notes'), { data: 'b', append: true }),
        json({ doc: 'notes', type: 'text', size: 2 }),
      ],
      [
        post(clientDoc(name('d1'), name('Order'), 'seen'), { data: { 1: { a: 1 } } }),
        json({ doc: 'seen', type: 'objects', size: 1 }),
      ],
      [post(clientDoc(name('d1'), name('Order'), 'seen'), { data: 'x', append: true }), refused('type_conflict')],
      [get(docnames(name('d1'), name('Order'))), json(listWith('notes', 'seen'))],
      [get(clientDoc(name('d1'), name('Order'), 'notes')), text('ab')],
      [get(clientDoc(name('d1'), name('Order'), 'notes'), AS_JSON), json('ab')],
      [get(clientDoc(name('d1'), name('Order'), 'seen')), json({ 1: { a: 1 } })],
      [get(clientDoc(name('d1'), name('Order'), 'none')), refused('doc_not_found')],
      ...each(
        refused('source_not_found'),
        get(docnames(name('d1'), name('None'))),
        get(clientDoc(name('d1'), name('None'), 'x')),
      ),
    ],
  },
];

const withoutDevices: readonly ConformanceCase[] = [
  {
    rule: 'REST-13',
    title: 'every route answers 404 for a device that does not exist',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([])],
      ...each(
        refused('client_not_found'),
        get(client(name('d'))),
        del(ownClient(name('anna'), name('d'))),
        get(docnames(name('d'), name('Order'))),
        get(clientDoc(name('d'), name('Order'), 'x')),
        post(clientDoc(name('d'), name('Order'), 'x'), { data: '' }),
      ),
    ],
  },
];

export const clientCases = [...withDevices, ...withoutDevices];
