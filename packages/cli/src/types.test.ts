import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { SourceSchema } from '@tidemark/protocol';
import { temporaryFolder } from '@tidemark/testing';
import { type Outcome, runInProcess } from '@tidemark/testing/server';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

const ORDER: SourceSchema = {
  properties: { total: { type: 'number' }, customer_id: { type: 'string', reference: 'Customer' } },
  required: ['total'],
};

/** The schemas of the server by source; null: the source has none. */
let schemas: Record<string, SourceSchema | null>;
let url: string;
let folder: string;

beforeEach(async () => {
  schemas = { Order: ORDER, 'price list': null };
  const server = createServer((request, response) => {
    const body = answerTo(decodeURIComponent(request.url ?? ''));
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { code: 'not_found', detail: 'there is no such route' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const temporary = await temporaryFolder();
  folder = temporary.path;
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await temporary.remove();
  });
});

function answerTo(path: string): unknown {
  if (path === '/rc/v1/sources') {
    return Object.entries(schemas).map(([name, schema]) => ({
      name,
      references: schema === null ? {} : { seller_id: 'Seller', customer_id: 'Customer' },
      schema: schema && { mode: 'enforce', version: 2, oldest_version: 1, converting: false },
    }));
  }
  const [, name = ''] = /^\/rc\/v1\/sources\/(.*)\/schema$/.exec(path) ?? [];
  const steps = [[{ step: 'rename', attribute: 'sum', to: 'total' }]];
  const schema = schemas[name];
  return schema ? { schema, mode: 'enforce', version: 2, steps, oldest_version: 1 } : undefined;
}

function tidemark(...args: readonly string[]): Promise<Outcome> {
  const env = { HOME: '/nonexistent', TIDEMARK_URL: url, TIDEMARK_TOKEN: 'tmk_1' };
  return runInProcess(['types', ...args], { env, folder });
}

const read = (name: string) => readFileSync(join(folder, name), 'utf8');

describe('tidemark types', () => {
  it('[TYPES-20] types are made of the sources and schemas of the server, and printed unless a file is named', async () => {
    const { code, out, err } = await tidemark();
    expect([code, err]).toEqual([0, '']);
    expect(
      out,
    ).toBe(`// Written by tidemark types from the schemas of the sources. Do not change it by hand: run the command again.

export type Order = {
  /** The id of an object of Customer. */
  readonly customer_id?: string;
  readonly total: number;
};

/** The types of all sources, for \`openDevice<Sources>\`. */
export type Sources = {
  readonly Order: {
    readonly attributes: Order;
    readonly references: {
      readonly customer_id: 'Customer';
      readonly seller_id: 'Seller';
    };
  };
  readonly 'price list': {
    readonly attributes: JsonObject;
  };
};

/** The versions of the schemas that these types are of, for \`openDevice<Sources>({ versions, … })\`. */
export const versions = {
  Order: { version: 2, steps: [[{ step: 'rename', attribute: 'sum', to: 'total' }]] },
} as const;

/** Any value of an attribute. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** Any attributes. */
export type JsonObject = { readonly [name: string]: JsonValue };
`);
    expect(await tidemark('--out', 'src/tidemark.ts')).toEqual({
      code: 0,
      out: '',
      err: 'Wrote src/tidemark.ts: 2 sources.\n',
    });
    expect(read('src/tidemark.ts')).toBe(out);
  });

  it('[TYPES-21] a file is written again when a schema has changed, and left alone when only its formatting differs', async () => {
    await tidemark('--out', 'tidemark.ts');
    const reformatted = read('tidemark.ts')
      .replace('JsonValue = null |', 'JsonValue =\n  | null\n  |')
      .replaceAll("'", '"')
      .replaceAll(/^ {2}/gm, '\t')
      .replace('{ version', '{\n version');
    writeFileSync(join(folder, 'tidemark.ts'), reformatted);
    expect((await tidemark('--out', 'tidemark.ts')).err).toBe('tidemark.ts is up to date.\n');
    expect(read('tidemark.ts')).toBe(reformatted);
    schemas.Order = { properties: { total: { type: 'string' } } };
    expect(JSON.parse((await tidemark('--out', 'tidemark.ts', '--json')).out)).toEqual({
      file: join(folder, 'tidemark.ts'),
      written: true,
      sources: 2,
    });
    expect(read('tidemark.ts')).toContain('readonly total?: string;');
  });

  it('[TYPES-22] --check writes nothing, and fails with what differs', async () => {
    const check = () => tidemark('--out', 'tidemark.ts', '--check');
    expect(await check()).toEqual({
      code: 1,
      out: '',
      err: expect.stringContaining(
        'tidemark.ts is not up to date with the schemas of the sources\n  the file does not exist\n',
      ),
    });
    expect(existsSync(join(folder, 'tidemark.ts'))).toBe(false);
    await tidemark('--out', 'tidemark.ts');
    expect(await check()).toEqual({ code: 0, out: '', err: 'tidemark.ts is up to date.\n' });
    schemas = { Order: { properties: { total: { type: 'string' } } }, Line: { properties: { count: {} } } };
    const before = read('tidemark.ts');
    expect((await check()).err).toContain(
      ['Line is missing in the file', 'Order differs', 'Sources differs', 'versions differs', 'hint:'].join('\n  '),
    );
    expect(read('tidemark.ts')).toBe(before);
    expect(await tidemark('--check')).toMatchObject({ code: 2, err: expect.stringContaining('name it with --out') });
  });

  it('[TYPES-22] --check names the definitions of a JSON Schema that differ, and a file that is none', async () => {
    const json = (...args: string[]) => tidemark('--format', 'json-schema', '--out', 'schemas.json', ...args);
    await json();
    expect((await json('--check')).code).toBe(0);
    schemas = { Order: null };
    expect((await json('--check')).err).toContain(
      '  Order differs\n  price list is in the file, and no source has it\n',
    );
    writeFileSync(join(folder, 'schemas.json'), '{');
    expect((await json('--check')).err).toContain('  Order is missing in the file\n');
  });

  it('[TYPES-21] a value that differs only in spaces, quotes or commas is another value', async () => {
    const check = (...values: string[]) => {
      schemas.Order = { properties: { state: { enum: values } } };
      return tidemark('--out', 'tidemark.ts', '--check');
    };
    schemas.Order = { properties: { state: { enum: ['in work', 'it\'s "done"'] } } };
    await tidemark('--out', 'tidemark.ts');
    expect((await check('in work', 'it\'s "done"')).code).toBe(0);
    for (const values of [
      ['inwork', 'it\'s "done"'],
      ['in  work', 'it\'s "done"'],
      ['in work', 'it"s "done"'],
      ['in, work', 'it\'s "done"'],
    ]) {
      expect((await check(...values)).err).toContain('  Order differs\n');
    }
    expect(await tidemark('--out', 'tidemark.ts')).toMatchObject({ err: 'Wrote tidemark.ts: 2 sources.\n' });
  });

  it('[TYPES-26] the OpenAPI description has push routes of every source, with the attributes of its objects', async () => {
    schemas['price/list'] = null;
    const openapi = (...args: string[]) => tidemark('--format', 'openapi', '--out', 'openapi.json', ...args);
    await openapi();
    const { paths, components } = JSON.parse(read('openapi.json'));
    expect(Object.keys(paths).slice(0, 5)).toEqual(
      ['push_objects', 'push_deletes', 'fast_insert', 'fast_update', 'fast_delete'].map(
        (route) => `/app/v1/Order/${route}`,
      ),
    );
    const bodyOf = (path: string) => paths[path].post.requestBody.content['application/json'].schema;
    const objectsOf = (name: string) => ({
      type: 'object',
      additionalProperties: { $ref: `#/components/schemas/${name}` },
    });
    expect(bodyOf('/app/v1/Order/push_objects')).toMatchObject({
      properties: {
        objects: objectsOf('Order.Some'),
        deletes: { type: 'array' },
        whole: { type: 'boolean' },
        rebuild_md: { type: 'boolean' },
      },
      required: ['objects'],
    });
    expect(bodyOf('/app/v1/Order/fast_insert').properties.objects).toEqual(objectsOf('Order'));
    expect(bodyOf('/app/v1/Order/fast_update').required).toEqual(['delete_data', 'data']);
    expect(bodyOf('/app/v1/price%20list/fast_delete').properties.data).toEqual(objectsOf('price_list.Some'));
    expect(bodyOf('/app/v1/price%2Flist/push_deletes').properties.objects).toMatchObject({ type: 'array' });
    const properties = {
      customer_id: { type: 'string', $comment: 'The id of an object of Customer.' },
      total: { type: 'number' },
    };
    expect(components.schemas).toMatchObject({
      Order: { type: 'object', properties, required: ['total'] },
      'Order.Some': { type: 'object', properties },
      price_list: { type: 'object' },
      'price_list-2': { type: 'object' },
    });
    expect(components.schemas['Order.Some']).not.toHaveProperty('required');
    const ids = Object.values(paths).map((path) => (path as { post: { operationId: string } }).post.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect((await openapi('--check')).code).toBe(0);
    schemas = { Order: null };
    expect((await openapi('--check')).err).toContain('  Order differs\n  Order.Some differs\n');
  });

  it('[TYPES-23] a file that the command has not written is not overwritten', async () => {
    writeFileSync(join(folder, 'app.ts'), 'export const app = 1;\n');
    const refused = await tidemark('--out', 'app.ts');
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('app.ts was not written by tidemark types'),
    ]);
    expect(read('app.ts')).toBe('export const app = 1;\n');
  });

  it('[TYPES-24] a JSON Schema has a definition for every source, in words that other tools know', async () => {
    schemas = {
      Order: {
        description: 'What is ordered.',
        properties: {
          photo: { format: 'file', title: 'A photo.' },
          photos: { type: 'array', items: { type: ['object', 'null'], format: 'file' } },
          customer_id: { type: 'string', reference: 'Customer' },
          due: { type: 'string', format: 'date' },
        },
        required: ['photo', 'due'],
        additionalProperties: false,
      },
      Note: null,
    };
    const { $defs } = JSON.parse((await tidemark('--format', 'json-schema')).out);
    const file = { type: 'object', properties: { $file: expect.anything() }, required: ['$file'] };
    expect($defs).toEqual({
      Note: { type: 'object' },
      Order: {
        type: 'object',
        description: 'What is ordered.',
        properties: {
          photo: { title: 'A photo.', ...file },
          photos: { type: 'array', items: { anyOf: [file, { type: 'null' }] } },
          customer_id: { type: 'string', $comment: 'The id of an object of Customer.' },
          due: { type: 'string', format: 'date' },
        },
        required: ['due', 'photo'],
        additionalProperties: false,
      },
    });
  });

  it('[TYPES-25] schemas of Zod accept what the schemas of the sources accept', async () => {
    schemas = {
      Order: {
        properties: {
          total: { type: 'integer', minimum: 0 },
          status: { enum: ['open', 'done'] },
          note: { type: ['string', 'null'], maxLength: 5 },
          size: { enum: [1, 'one', null] },
          due: { type: 'string', format: 'date' },
          address: {
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
          photos: { type: 'array', items: { format: 'file' }, minItems: 1 },
          either: { type: ['string', 'number'] },
          nothing: { type: 'null' },
          extra: {},
        },
        required: ['total'],
      },
      Note: null,
    };
    await tidemark('--format', 'zod', '--out', 'tidemark.mts');
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(import.meta.dirname, '../../../node_modules/zod'), join(folder, 'node_modules/zod'));
    const { Order, JsonObject } = await import(join(folder, 'tidemark.mts'));
    const accepts = (value: object) => Order.safeParse({ total: 1, ...value }).success;
    expect(JsonObject.safeParse({ a: [1, { b: null }] }).success).toBe(true);
    const file = { $file: { sha256: 'a', size: 1, type: 'image/png' } };
    const right = [
      {},
      { status: 'done', note: null, size: 'one', due: '2026-11-19', address: { city: 'Kiel' }, photos: [file] },
      { note: 'short', size: null, either: 7, nothing: null, extra: [{ a: 1 }] },
    ];
    expect(right.map(accepts)).toEqual(right.map(() => true));
    const wrong = [
      ...[{ total: -1 }, { total: 1.5 }, { total: undefined }, { status: 'opn' }, { note: 'too long' }, { size: 2 }],
      ...[{ due: 'today' }, { address: {} }, { address: { city: 'Kiel', street: 'Kai' } }, { photos: [] }],
      ...[{ photos: [{ $file: {} }] }, { either: true }, { nothing: 0 }],
    ];
    expect(wrong.map(accepts)).toEqual(wrong.map(() => false));
  });
});
