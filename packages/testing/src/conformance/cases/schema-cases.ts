import type { ConformanceCase, Exchange } from '../conformance-case.ts';
import { MOMENT, NUMBER } from '../matcher.ts';
import { get, json, path, post, put, refused } from '../requests.ts';
import { aSource, push, sourceView } from './fixtures.ts';

const FIRST = { properties: { title: { type: 'string' } }, required: ['title'] };
const SECOND = { properties: { name: { type: 'string' } }, required: ['name'] };
const RENAME = [{ step: 'rename', attribute: 'title', to: 'name' }];

function schemaOf(source: string): string {
  return path`/rc/v1/sources/${source}/schema`;
}

function schemaView(source: string, changes: Readonly<Record<string, unknown>> = {}): unknown {
  const state = { mode: 'report', version: 1, oldest_version: 1, converting: false };
  return { source, ...state, schema: FIRST, steps: [], set_at: MOMENT, ...changes };
}

function aSchema(source: string, call: Readonly<Record<string, unknown>>, changes = {}): Exchange {
  return [put(schemaOf(source), call), json(schemaView(source, changes))];
}

export const schemaCases: readonly ConformanceCase[] = [
  {
    rule: 'SCHEMA-9',
    title: 'a schema is set, read again, and its mode changed alone',
    steps: (name) => [
      aSource(name('Order')),
      [get(schemaOf(name('Order'))), refused('schema_not_found')],
      aSchema(name('Order'), { schema: FIRST }),
      aSchema(name('Order'), { mode: 'off' }, { mode: 'off' }),
      [get(schemaOf(name('Order'))), json(schemaView(name('Order'), { mode: 'off' }))],
      [get(schemaOf(name('none'))), refused('source_not_found')],
      [put(schemaOf(name('none')), { schema: FIRST }), refused('source_not_found')],
      [put(schemaOf(name('Order')), { mode: 'strict' }), refused('invalid_value', '/mode')],
      [put(schemaOf(name('Order')), { schema: {} }), refused('invalid_value', '/schema')],
      [put(schemaOf(name('Order')), { colour: 1 }), refused('invalid_request', '/colour')],
    ],
  },
  {
    rule: 'SCHEMA-10',
    title: 'a breaking schema is refused, and one with steps is the next version',
    steps: (name) => {
      const answer = { source: name('Order'), reasons: [], devices: {}, devices_without_version: NUMBER };
      return [
        aSource(name('Order')),
        aSchema(name('Order'), { schema: FIRST }),
        [put(schemaOf(name('Order')), { schema: SECOND }), refused('schema_breaking', '/schema', '/schema')],
        [
          post(`${schemaOf(name('Order'))}/diff`, { schema: SECOND, steps: RENAME }),
          json({ ...answer, kind: 'translatable', version: 2 }),
        ],
        [post(`${schemaOf(name('Order'))}/diff`, {}), refused('invalid_value', '/schema')],
        [post(`${schemaOf(name('none'))}/diff`, { schema: FIRST }), refused('source_not_found')],
        aSchema(name('Order'), { schema: SECOND, force: true }, { version: 2, schema: SECOND, steps: [[]] }),
      ];
    },
  },
  {
    rule: 'SCHEMA-20',
    title: 'a schema is proposed from the stored objects, or from samples',
    steps: (name) => {
      const to = `${schemaOf(name('Order'))}/infer`;
      const schema = { properties: { title: { type: 'string' } }, required: ['title'] };
      const support = { '/properties/title/type': 1, '/required/0': 1 };
      const proposal = { source: name('Order'), schema, objects: 1, support };
      return [
        aSource(name('Order'), { partition_type: 'app' }),
        [post(to, {}), json({ ...proposal, schema: { properties: {} }, objects: 0, support: {} })],
        [
          post(push(name('Order'), 'push_objects'), { objects: { a: { title: 'x' } } }),
          json({ source: name('Order'), user_id: null, changed: 1, unchanged: 0, seq: 1 }),
        ],
        [post(to, {}), json(proposal)],
        [post(to, { samples: { a: { title: 'y' } } }), json(proposal)],
        [post(to, { samples: [] }), refused('invalid_request', '/samples')],
        [post(`${schemaOf(name('none'))}/infer`, {}), refused('source_not_found')],
      ];
    },
  },
  {
    rule: 'SCHEMA-14',
    title: 'a schema that is enforced refuses objects that do not fit it, with a pointer to each flaw',
    steps: (name) => {
      const to = (operation: string) => push(name('Order'), operation);
      const wrong = { a: { title: 1 }, b: { note: 'x' } };
      return [
        aSource(name('Order'), { partition_type: 'app' }),
        aSchema(name('Order'), { schema: FIRST, mode: 'enforce' }, { mode: 'enforce' }),
        [
          post(to('push_objects'), { objects: { a: { title: 1 }, b: { title: 'x' } } }),
          refused('schema_violation', '/objects/a/title'),
        ],
        [
          post(to('push_objects'), { objects: wrong, whole: true }),
          refused('schema_violation', '/objects/a/title', '/objects/b/title'),
        ],
        [
          post(to('fast_insert'), { objects: wrong }),
          refused('schema_violation', '/objects/a/title', '/objects/b/title'),
        ],
        [
          get(path`/rc/v1/sources/${name('Order')}`),
          json(
            sourceView(name('Order'), {
              partition_type: 'app',
              schema: { mode: 'enforce', version: 1, oldest_version: 1, converting: false },
            }),
          ),
        ],
        aSchema(name('Order'), { mode: 'report' }),
        [
          post(to('push_objects'), { objects: { a: { title: 1 } } }),
          json({ source: name('Order'), user_id: null, changed: 1, unchanged: 0, seq: 1 }),
        ],
        [
          get(`${schemaOf(name('Order'))}/report`),
          json({
            ...{ source: name('Order'), mode: 'report', version: 1, objects: 1 },
            samples: [{ object: 'a', attribute: 'title', detail: '"title" must be a text', at: MOMENT }],
          }),
        ],
        [get(`${schemaOf(name('none'))}/report`), refused('source_not_found')],
      ];
    },
  },
];
