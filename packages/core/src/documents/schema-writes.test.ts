import { Refusal, SCHEMA_FLAWS_MAX, SCHEMA_SAMPLES_MAX, type SourceSchema } from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { Adapter, ObjectsAnswer } from '../ports/adapter.ts';

const SCHEMA: SourceSchema = {
  properties: {
    title: { type: 'string' },
    state: { enum: ['open', 'done'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['title'],
};
const TO = { source: 'Product' };

async function newSource(mode: 'off' | 'report' | 'enforce' = 'enforce', schema: SourceSchema = SCHEMA) {
  const test = await newTidemark();
  const { objects, sources } = test.tidemark;
  const read = async () => Object.fromEntries(await objects.read(TO));
  await objects.push({ ...TO, objects: { a: { title: 'A', state: 'open' }, old: { state: 'open' } } });
  await sources.schemas.set('Product', { schema, mode });
  return { ...test, objects, schemas: sources.schemas, read };
}

/** The refusal of a call as code, message and flaws. */
async function told(call: Promise<unknown>): Promise<Pick<Refusal, 'code' | 'message' | 'flaws'>> {
  const error: unknown = await call.then(() => null).catch((thrown: unknown) => thrown);
  if (!(error instanceof Refusal)) throw new Error('the call was not refused');
  return { code: error.code, message: error.message, flaws: error.flaws };
}

type Source = Awaited<ReturnType<typeof newSource>>;
type Call = (source: Source) => Promise<unknown>;

/** Calls that do not fit, with the pointer to the flaw. */
const MISFITS: readonly (readonly [string, Call, string, string])[] = [
  [
    'push_objects',
    ({ objects }) => objects.push({ ...TO, objects: { a: { state: 'late' } } }),
    '/objects/a/state',
    'must be one of "open", "done"',
  ],
  [
    'push_objects of a new object',
    ({ objects }) => objects.push({ ...TO, objects: { b: { state: 'open' } } }),
    '/objects/b/title',
    'is required and missing',
  ],
  [
    'push_objects of an object that lacks an attribute',
    ({ objects }) => objects.push({ ...TO, objects: { old: { tags: [] } } }),
    '/objects/old/title',
    'is required and missing',
  ],
  [
    'push_objects with whole objects',
    ({ objects }) => objects.push({ ...TO, objects: { a: { state: 'done' } }, whole: true }),
    '/objects/a/title',
    'is required and missing',
  ],
  [
    'fast_insert',
    ({ objects }) => objects.fastInsert({ ...TO, objects: { b: { title: 'B', tags: ['x', 1] } } }),
    '/objects/b/tags/1',
    'must be a text',
  ],
  [
    'fast_update',
    ({ objects }) => objects.fastUpdate({ ...TO, delete_data: { a: {} }, data: { a: { title: null } } }),
    '/data/a/title',
    'must be a text',
  ],
  [
    'fast_update that takes an attribute',
    ({ objects }) => objects.fastUpdate({ ...TO, delete_data: { a: { title: 'A' } }, data: { a: { state: 'done' } } }),
    '/data/a/title',
    'is required and missing',
  ],
  [
    'fast_delete',
    ({ objects }) => objects.fastDelete({ ...TO, data: { a: { title: 'A' } } }),
    '/data/a/title',
    'is required and missing',
  ],
  [
    'replace',
    ({ objects }) => objects.replace({ ...TO, objects: { a: { state: 'open' } }, since: null }),
    '/objects/a/title',
    'is required and missing',
  ],
];

/** Calls that fit, and what the objects are afterwards. */
const FITS: readonly (readonly [string, Call, object])[] = [
  [
    'an update that does not name what is required',
    ({ objects }) => objects.push({ ...TO, objects: { a: { state: 'done' } } }),
    { a: { title: 'A', state: 'done' } },
  ],
  [
    'attributes that the schema does not name',
    ({ objects }) => objects.push({ ...TO, objects: { a: { note: 1 } } }),
    { a: { title: 'A', state: 'open', note: 1 } },
  ],
  [
    'an attribute that is taken and set',
    ({ objects }) => objects.fastUpdate({ ...TO, delete_data: { a: { title: 'A' } }, data: { a: { title: 'B' } } }),
    { a: { title: 'B', state: 'open' } },
  ],
  [
    'an object that loses all attributes',
    ({ objects }) => objects.fastDelete({ ...TO, data: { a: { title: 'A', state: 'open' } } }),
    {},
  ],
  ['an object without attributes', ({ objects }) => objects.push({ ...TO, objects: { a: {} }, whole: true }), {}],
  ['a deletion', ({ objects }) => objects.pushDeletes({ ...TO, objects: ['a'] }), {}],
];

describe('writes to a source with a schema', () => {
  it.each(MISFITS)(
    '[SCHEMA-14] with an enforced schema, %s is refused with a pointer to the flaw, and nothing is applied',
    async (_name, call, at, detail) => {
      const source = await newSource();
      const before = await source.read();
      const { code, flaws } = await told(call(source));
      expect(code).toBe('schema_violation');
      expect(flaws).toEqual([{ pointer: at, detail }]);
      expect(await source.read()).toEqual(before);
    },
  );

  it.each(FITS)('[SCHEMA-14] with an enforced schema, %s is written', async (_name, call, expected) => {
    const source = await newSource();
    await call(source);
    expect(await source.read()).toEqual({ ...expected, old: { state: 'open' } });
  });

  it('[SCHEMA-14] a refusal counts the objects and names so many flaws at most', async () => {
    const { objects } = await newSource();
    const many = Array.from({ length: SCHEMA_FLAWS_MAX + 1 }, (_, index) => [`b${index}`, { title: index }] as const);
    const { message, flaws } = await told(objects.push({ ...TO, objects: Object.fromEntries(many) }));
    expect(message).toBe(
      `${many.length} objects do not fit the schema of "Product": object "b0": "title" must be a text`,
    );
    expect(flaws).toHaveLength(SCHEMA_FLAWS_MAX);
  });

  it('[SCHEMA-15] a schema that only reports refuses nothing, and counts what it would have refused', async () => {
    const source = await newSource('report');
    const heard: unknown[] = [];
    source.tidemark.events.on('misfits', (event) => heard.push(event));
    for (const [, call] of MISFITS.slice(0, 4)) await call(source);
    expect(heard).toEqual(MISFITS.slice(0, 4).map(() => ({ source: 'Product', objects: 1 })));
    const report = await source.schemas.report('Product');
    expect(report).toMatchObject({ source: 'Product', mode: 'report', version: 1, objects: 4 });
    expect(report.samples[0]).toEqual({
      ...{ object: 'a', attribute: 'title', at: '2023-11-14T22:13:20.000Z' },
      detail: '"title" is required and missing',
    });
  });

  it('[SCHEMA-15] the report keeps the newest samples, and begins again with each version', async () => {
    const { objects, schemas } = await newSource('report');
    for (let n = 0; n <= SCHEMA_SAMPLES_MAX; n++) await objects.push({ ...TO, objects: { [`b${n}`]: { title: n } } });
    const { objects: count, samples } = await schemas.report('Product');
    expect(count).toBe(SCHEMA_SAMPLES_MAX + 1);
    expect(samples.map(({ object }) => object)).toEqual(
      Array.from({ length: SCHEMA_SAMPLES_MAX }, (_, index) => `b${SCHEMA_SAMPLES_MAX - index}`),
    );
    await schemas.set('Product', { schema: { ...SCHEMA, title: 'Product' } });
    expect(await schemas.report('Product')).toMatchObject({ version: 2, objects: 0, samples: [] });
    expect(await refusalOf(schemas.report('Order'))).toBe('schema_not_found');
  });

  it('[SCHEMA-15] a schema that is off checks nothing', async () => {
    const source = await newSource('off');
    for (const [, call] of MISFITS.slice(0, 4)) await call(source);
    expect(await source.schemas.report('Product')).toMatchObject({ objects: 0 });
  });

  it('[SCHEMA-14] while stored objects are converted, a write is not judged by what they lack', async () => {
    const { objects, schemas, read } = await newSource();
    const renamed: SourceSchema = { properties: { name: { type: 'string' }, state: {} }, required: ['name'] };
    const steps = [
      { step: 'rename', attribute: 'title', to: 'name' },
      { step: 'remove', attribute: 'tags' },
    ];
    await schemas.set('Product', { schema: renamed, steps });
    await objects.push({ ...TO, objects: { a: { state: 'done' } } });
    expect(await read()).toMatchObject({ a: { state: 'done' } });
    await schemas.converted('Product', 2);
    expect(await refusalOf(objects.push({ ...TO, objects: { a: { state: 'open' } } }))).toBe('schema_violation');
  });
});

describe('answers of backends to a source with a schema', () => {
  async function newBackend(answer: () => ObjectsAnswer, mode: 'report' | 'enforce' = 'enforce') {
    const backend: Adapter = {
      query: async () => answer(),
      create: async () => '1',
      update: async () => undefined,
      delete: async () => undefined,
    };
    const { tidemark } = await newTidemark({ adapters: { find: () => backend } });
    await tidemark.sources.declare({ name: 'Stock', partition_type: 'app', adapter: 'backend' });
    await tidemark.sources.schemas.set('Stock', { schema: SCHEMA, mode });
    const read = async () => Object.fromEntries(await tidemark.objects.read({ source: 'Stock' }));
    return { tidemark, read, refresh: () => tidemark.refresher.refresh({ source: 'Stock' }) };
  }

  const objects = { a: { title: 'A' }, b: { title: 1 } };
  const asText = (): ObjectsAnswer => ({
    chunks: (async function* () {
      yield JSON.stringify(objects);
    })(),
  });

  it.each([
    ['objects', (): ObjectsAnswer => ({ objects })],
    ['a text', asText],
  ])('[SCHEMA-16] a refresh whose answer is %s that does not fit fails and names the flaw', async (_name, answer) => {
    const { refresh, read } = await newBackend(answer);
    const error = await refresh();
    expect(error?.code).toBe('backend_error');
    expect(error?.detail).toContain('"title" must be a text');
    expect(error?.detail).toContain('"b"');
    expect(await read()).toEqual({});
  });

  it('[SCHEMA-16] with a schema that only reports, the answer is written and counted', async () => {
    const { tidemark, refresh, read } = await newBackend(asText, 'report');
    expect(await refresh()).toBeNull();
    expect(await read()).toEqual(objects);
    expect(await tidemark.sources.schemas.report('Stock')).toMatchObject({ objects: 1, samples: [{ object: 'b' }] });
  });
});

it('[SCHEMA-20] a schema is proposed from all objects of all owners, however many there are', async () => {
  const { tidemark } = await newTidemark();
  const many = Array.from({ length: 1_200 }, (_, at) => [
    `o${at}`,
    { title: 't', ...(at === 1_199 ? { last: 1 } : {}) },
  ]);
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: Object.fromEntries(many) });
  await tidemark.objects.push({ source: 'Order', user_id: 'bob', objects: { b: { title: 't', note: 'x' } } });
  const { objects, schema } = await tidemark.objects.inferSchema('Order');
  expect([objects, Object.keys(schema.properties).sort()]).toEqual([1_201, ['last', 'note', 'title']]);
});
