import type { ConformanceCase, Exchange } from '../conformance-case.ts';
import { ANY_TEXT, listWith, listWithout } from '../matcher.ts';
import { AS_JSON, AS_TEXT, each, get, json, path, post, refused, text } from '../requests.ts';
import { aSource, aUser } from './fixtures.ts';

function doc(name: string): string {
  return path`/rc/v1/store/${name}`;
}

function stored(name: string, type: 'text' | 'objects', size: number) {
  return json({ doc: name, type, size });
}

const HASHES = {
  1: { name: 'Anna', age: 7, tags: ['a', null, true], deep: { x: { y: 1.5 } } },
  2: { constructor: 'c' },
};

const contents: readonly ConformanceCase[] = [
  {
    rule: 'REST-5',
    title: 'a document of objects is returned unchanged',
    steps: (name) => [
      [get(doc(name('d'))), refused('doc_not_found')],
      [post(doc(name('d')), { data: HASHES }), stored(name('d'), 'objects', 2)],
      [get(doc(name('d'))), json(HASHES)],
      [get(doc(name('d')), AS_TEXT), json(HASHES)],
      [post(doc(name('d')), { data: {}, append: false }), stored(name('d'), 'objects', 0)],
      [get(doc(name('d'))), json({})],
    ],
  },
  {
    rule: 'REST-5',
    title: 'setting a document replaces what was there, whatever its type',
    steps: (name) => [
      [post(doc(name('d')), { data: { 1: { a: 1 } } }), stored(name('d'), 'objects', 1)],
      [post(doc(name('d')), { data: 'text' }), stored(name('d'), 'text', 4)],
      [get(doc(name('d'))), text('text')],
      [post(doc(name('d')), { data: { 2: { b: 2 } }, append: false }), stored(name('d'), 'objects', 1)],
      [get(doc(name('d'))), json({ 2: { b: 2 } })],
    ],
  },
  {
    rule: 'REST-5',
    title: 'a document that is neither a text nor objects is refused, with a pointer',
    steps: (name) => [
      ...each(
        refused('invalid_request', '/data'),
        ...[7, true, null, [], [{}]].map((data) => post(doc(name('d')), { data })),
      ),
      [post(doc(name('d')), { data: { 1: 'x' } }), refused('invalid_request', '/data/1')],
      [post(doc(name('d')), { data: { 'a/b': { ok: 1 }, '~': 7 } }), refused('invalid_request', '/data/~0')],
      [post(doc(name('d')), { append: true }), refused('invalid_request', '/data')],
      [post(doc(name('d')), { data: 'x', append: 'yes' }), refused('invalid_request', '/append')],
      [post(doc(name('d')), { data: 'x', other: 1 }), refused('invalid_request', '/other')],
      [get(doc(name('d'))), refused('doc_not_found')],
    ],
  },
  {
    rule: 'REST-7',
    title: 'a text document is returned as plain text, or as a JSON string if the caller accepts JSON',
    steps: (name) => [
      [post(doc(name('d')), { data: 'häl"lo\n🌊' }), stored(name('d'), 'text', 9)],
      [get(doc(name('d'))), text('häl"lo\n🌊')],
      [get(doc(name('d')), AS_TEXT), text('häl"lo\n🌊')],
      [get(doc(name('d')), { accept: '*/*' }), text('häl"lo\n🌊')],
      [get(doc(name('d')), AS_JSON), json('häl"lo\n🌊')],
      [get(doc(name('d')), { accept: 'application/json, text/plain;q=0.5' }), json('häl"lo\n🌊')],
      [get(doc(name('d')), { accept: 'application/json;q=0.5, text/*' }), text('häl"lo\n🌊')],
    ],
  },
  {
    rule: 'REST-7',
    title: 'the empty string is a document',
    steps: (name) => [
      [post(doc(name('d')), { data: '' }), stored(name('d'), 'text', 0)],
      [get(doc(name('d'))), text('')],
      [get(doc(name('d')), AS_JSON), json('')],
    ],
  },
];

const appending: readonly ConformanceCase[] = [
  {
    rule: 'REST-6',
    title: 'appending to a text document adds the text, and creates a missing document',
    steps: (name) => [
      [post(doc(name('d')), { data: 'one', append: true }), stored(name('d'), 'text', 3)],
      [post(doc(name('d')), { data: ' two', append: true }), stored(name('d'), 'text', 7)],
      [post(doc(name('d')), { data: '', append: true }), stored(name('d'), 'text', 7)],
      [get(doc(name('d'))), text('one two')],
    ],
  },
  {
    rule: 'REST-6',
    title: 'appending to a document of objects merges object by object, attribute by attribute',
    steps: (name) => [
      [post(doc(name('d')), { data: { 1: { a: 1, b: 1 } }, append: true }), stored(name('d'), 'objects', 1)],
      [
        post(doc(name('d')), { data: { 1: { b: 2, c: 3 }, 2: { d: 4 } }, append: true }),
        stored(name('d'), 'objects', 2),
      ],
      [get(doc(name('d'))), json({ 1: { a: 1, b: 2, c: 3 }, 2: { d: 4 } })],
    ],
  },
  {
    rule: 'REST-6',
    title: 'appending one type to the other is refused and changes nothing',
    steps: (name) => [
      [post(doc(name('t')), { data: 'text' }), stored(name('t'), 'text', 4)],
      [post(doc(name('t')), { data: { 1: { a: 1 } }, append: true }), refused('type_conflict')],
      [get(doc(name('t'))), text('text')],
      [post(doc(name('h')), { data: { 1: { a: 1 } } }), stored(name('h'), 'objects', 1)],
      [post(doc(name('h')), { data: 'text', append: true }), refused('type_conflict')],
      [get(doc(name('h'))), json({ 1: { a: 1 } })],
    ],
  },
];

function userDoc(user: string, source: string, name: string): string {
  return path`/rc/v1/users/${user}/sources/${source}/docs/${name}`;
}

function docnames(user: string, source: string): string {
  return path`/rc/v1/users/${user}/sources/${source}/docnames`;
}

const ofServer: readonly ConformanceCase[] = [
  {
    rule: 'REST-10',
    title:
      'the documents of the server are listed by name once they are stored, and those of sources are not among them',
    steps: (name) => [
      [get('/rc/v1/store'), json(listWithout(name('a'), name('b')))],
      [post(doc(name('a')), { data: '' }), stored(name('a'), 'text', 0)],
      [post(doc(name('b')), { data: HASHES }), stored(name('b'), 'objects', 2)],
      aSource(name('Order')),
      [post(userDoc('*', name('Order'), name('c')), { data: 'c' }), stored(name('c'), 'text', 1)],
      [get('/rc/v1/store'), json(listWith(name('a'), name('b')))],
      [get('/rc/v1/store'), json(listWithout(name('c')))],
    ],
  },
];

const ofUsers: readonly ConformanceCase[] = [
  {
    rule: 'REST-10',
    title: 'the documents of a user and source: md first, then those stored, each readable by its name',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [get(docnames(name('anna'), name('Order'))), json(['md'])],
      [get(userDoc(name('anna'), name('Order'), 'md')), json({})],
      [get(userDoc(name('anna'), name('Order'), 'notes')), refused('doc_not_found')],
      [post(userDoc(name('anna'), name('Order'), 'notes'), { data: 'n' }), stored('notes', 'text', 1)],
      [post(userDoc(name('anna'), name('Order'), 'errors'), { data: { 1: { a: 1 } } }), stored('errors', 'objects', 1)],
      [post(userDoc(name('anna'), name('Order'), 'notes'), { data: 'm', append: true }), stored('notes', 'text', 2)],
      [get(docnames(name('anna'), name('Order'))), json(['md', 'errors', 'notes'])],
      [get(userDoc(name('anna'), name('Order'), 'notes')), text('nm')],
      [get(userDoc(name('anna'), name('Order'), 'notes'), AS_JSON), json('nm')],
      [get(userDoc(name('anna'), name('Order'), 'errors')), json({ 1: { a: 1 } })],
    ],
  },
  {
    rule: 'REST-10',
    title: 'md is the objects of the partition: setting replaces them, appending merges',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [
        post(userDoc(name('anna'), name('Order'), 'md'), { data: { 1: { a: 1 }, 2: { b: 1 } } }),
        stored('md', 'objects', 2),
      ],
      [
        post(userDoc(name('anna'), name('Order'), 'md'), { data: { 2: { c: 2 } }, append: true }),
        stored('md', 'objects', 2),
      ],
      [get(userDoc(name('anna'), name('Order'), 'md')), json({ 1: { a: 1 }, 2: { b: 1, c: 2 } })],
      [post(userDoc(name('anna'), name('Order'), 'md'), { data: { 3: { d: 1 } } }), stored('md', 'objects', 1)],
      [get(userDoc(name('anna'), name('Order'), 'md')), json({ 3: { d: 1 } })],
      [post(userDoc(name('anna'), name('Order'), 'md'), { data: 'text' }), refused('type_conflict')],
      [get(userDoc(name('anna'), name('Order'), 'md')), json({ 3: { d: 1 } })],
    ],
  },
  {
    rule: 'REST-10',
    title: 'objects are listed page by page in the order of their last change',
    steps: (name) => {
      const objects = (query: string) =>
        get(`${path`/rc/v1/users/${name('anna')}/sources/${name('Order')}/objects`}${query}`);
      const md = userDoc(name('anna'), name('Order'), 'md');
      const first = { id: '2', seq: 2, created_seq: 2, changed: {}, attributes: { a: 2 } };
      const changed = { id: '1', seq: 3, created_seq: 1, changed: { b: 3 }, attributes: { a: 1, b: 1 } };
      return [
        aUser(name('anna')),
        aSource(name('Order')),
        [post(md, { data: { 1: { a: 1 }, 2: { a: 2 } } }), stored('md', 'objects', 2)],
        [post(md, { data: { 1: { b: 1 } }, append: true }), stored('md', 'objects', 2)],
        [objects('?limit=1'), json({ size: 2, head: 3, objects: [first], next: 2 })],
        [objects('?limit=1&after=2'), json({ size: 2, head: 3, objects: [changed], next: null })],
        [objects('?from=1'), json({ size: 2, head: 3, objects: [changed], next: null })],
        [objects('?from=7'), refused('object_not_found')],
        ...each(refused('invalid_value', '/limit'), objects('?limit=0'), objects('?limit=1001')),
        [objects('?after=x'), refused('invalid_request', '/after')],
        [get(path`/rc/v1/users/*/sources/${name('Order')}/objects`), refused('doc_not_found')],
      ];
    },
  },
  {
    rule: 'LIST-1',
    title: 'objects are filtered by attributes and ids, and sorted, over all pages',
    steps: (name) => {
      const where = path`/rc/v1/users/*/sources/${name('Product')}/objects`;
      const list = (query: Readonly<Record<string, string>>) => get(`${where}?${new URLSearchParams(query)}`);
      const listed = (seq: number, [id, attributes]: readonly [string, unknown]) => ({
        ...{ id, seq, created_seq: seq, changed: {}, attributes },
      });
      const anchor = listed(1, ['a', { name: 'Anchor', price: 90 }]);
      const buoy = listed(2, ['b', { name: 'Buoy', price: 9.5 }]);
      const chart = listed(3, ['c', { name: 'Chart' }]);
      const whole = { size: 3, head: 3, next: null, read: 3 };
      const objects = { a: anchor.attributes, b: buoy.attributes, c: chart.attributes };
      const cursor = '[1,9.5,"b"]';
      return [
        aSource(name('Product'), { partition_type: 'app' }),
        [post(userDoc('*', name('Product'), 'md'), { data: objects }), stored('md', 'objects', 3)],
        [list({ filter: '{"price":{"gte":10}}' }), json({ ...whole, objects: [anchor], matches: 1 })],
        [
          list({ filter: '{"name":{"contains":"A"},"@id":{"ne":"c"}}' }),
          json({ ...whole, objects: [anchor], matches: 1 }),
        ],
        [list({ filter: '{"*":{"contains":"CH"}}' }), json({ ...whole, objects: [anchor, chart], matches: 2 })],
        [list({ filter: '{"price":{"exists":false}}' }), json({ ...whole, objects: [chart], matches: 1 })],
        [list({ filter: '{}', limit: '2' }), json({ ...whole, objects: [anchor, buoy], next: 2, matches: 3 })],
        [list({ filter: '{}', limit: '2', after: '2' }), json({ ...whole, objects: [chart], read: 1, matches: null })],
        [list({ sort: 'price', limit: '1' }), json({ ...whole, objects: [buoy], next: cursor, matches: 3 })],
        [list({ sort: 'price', after: cursor }), json({ ...whole, objects: [anchor, chart], matches: 3 })],
        [list({ sort: 'price', order: 'desc' }), json({ ...whole, objects: [anchor, buoy, chart], matches: 3 })],
        [
          list({ sort: '@id', order: 'desc', limit: '1' }),
          json({ ...whole, objects: [chart], next: ANY_TEXT, matches: 3 }),
        ],
      ];
    },
  },
  {
    rule: 'LIST-4',
    title: 'a filter or an order that is malformed is refused with its place',
    steps: (name) => {
      const where = path`/rc/v1/users/*/sources/${name('Product')}/objects`;
      const list = (query: Readonly<Record<string, string>>) => get(`${where}?${new URLSearchParams(query)}`);
      return [
        aSource(name('Product'), { partition_type: 'app' }),
        [list({ filter: '{"a":1}' }), json({ size: 0, head: 0, objects: [], next: null, read: 0, matches: 0 })],
        ...each(refused('invalid_value', '/filter'), list({ filter: '{' }), list({ filter: '[]' })),
        [list({ filter: '{"a":{"like":1}}' }), refused('invalid_value', '/filter/a/like')],
        [list({ filter: '{"a":{"gt":null}}' }), refused('invalid_value', '/filter/a/gt')],
        [list({ filter: '{"or":[]}' }), refused('invalid_value', '/filter/or')],
        [list({ sort: '' }), refused('invalid_value', '/sort')],
        ...each(refused('invalid_value', '/order'), list({ order: 'asc' }), list({ sort: 'a', order: 'up' })),
        [list({ sort: 'a', from: '1' }), refused('invalid_value', '/from')],
        [list({ sort: 'a', after: '7' }), refused('invalid_value', '/after')],
        [list({ filter: '{}', after: 'x' }), refused('invalid_request', '/after')],
        [get(`${where}?sort=a&sort=b`), refused('invalid_request', '/sort')],
      ];
    },
  },
  {
    rule: 'REST-10',
    title: 'the user * means the shared documents of a source',
    steps: (name) => [
      aSource(name('Product'), { partition_type: 'app' }),
      aUser(name('anna')),
      [get(docnames('*', name('Product'))), json(['md'])],
      [post(userDoc('*', name('Product'), 'notes'), { data: 'shared' }), stored('notes', 'text', 6)],
      [post(userDoc('*', name('Product'), 'md'), { data: { 1: { a: 1 } } }), stored('md', 'objects', 1)],
      [get(docnames('*', name('Product'))), json(['md', 'notes'])],
      [get(userDoc('*', name('Product'), 'notes')), text('shared')],
      [get(userDoc('*', name('Product'), 'md')), json({ 1: { a: 1 } })],
      [get(userDoc(name('anna'), name('Product'), 'notes')), refused('doc_not_found')],
    ],
  },
  {
    rule: 'REST-10',
    title: 'a user source has no shared md: it is not listed, read or written',
    steps: (name) => [
      aSource(name('Order')),
      [get(docnames('*', name('Order'))), json([])],
      [get(userDoc('*', name('Order'), 'md')), refused('doc_not_found')],
      [post(userDoc('*', name('Order'), 'md'), { data: { 1: { a: 1 } } }), refused('doc_not_found')],
      [post(userDoc('*', name('Order'), 'notes'), { data: 'shared' }), stored('notes', 'text', 6)],
      [get(docnames('*', name('Order'))), json(['notes'])],
    ],
  },
  {
    rule: 'REST-10',
    title: 'documents of different owners are separate',
    steps: (name) => {
      const places = [
        doc(name('d')),
        userDoc(name('anna'), name('A'), name('d')),
        userDoc(name('bob'), name('A'), name('d')),
        userDoc(name('anna'), name('B'), name('d')),
        userDoc('*', name('A'), name('d')),
      ];
      return [
        ...['anna', 'bob'].map((login) => aUser(name(login))),
        ...['A', 'B'].map((source) => aSource(name(source))),
        ...places.map(
          (place, index): Exchange => [post(place, { data: `content ${index}` }), stored(name('d'), 'text', 9)],
        ),
        ...places.map((place, index): Exchange => [get(place), text(`content ${index}`)]),
      ];
    },
  },
  {
    rule: 'REST-10',
    title: 'user and source of a document must exist',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      ...each(
        refused('source_not_found'),
        get(userDoc(name('anna'), name('None'), 'x')),
        get(docnames('*', name('None'))),
        post(userDoc(name('anna'), name('None'), 'x'), { data: '' }),
      ),
      ...each(
        refused('user_not_found'),
        get(userDoc(name('nobody'), name('Order'), 'x')),
        get(docnames(name('nobody'), name('Order'))),
        post(userDoc(name('nobody'), name('Order'), 'x'), { data: '' }),
      ),
    ],
  },
];

export const documentCases = [...contents, ...appending, ...ofServer, ...ofUsers];
