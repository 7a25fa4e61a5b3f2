import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceSchema } from '@tidemark/protocol';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { DescribedSource } from './described-source.ts';
import { typescriptText } from './typescript.ts';
import { zodText } from './zod.ts';

const ROOT = join(import.meta.dirname, '../../../..');

function sourceOf(name: string, schema: SourceSchema | null, more: Partial<DescribedSource> = {}): DescribedSource {
  return { name, schema, version: 1, steps: [], references: {}, ...more };
}

/** The types in a file, without what stands around them. */
function typesIn(text: string): string {
  return text.slice(text.indexOf('export'), text.indexOf('/** The types of all sources'));
}

function typeOf(schema: SourceSchema): string {
  return typesIn(typescriptText([sourceOf('Order', schema)])).trim();
}

const customer: SourceSchema = {
  title: 'A customer.',
  properties: { name: { type: 'string' }, vip: { type: 'boolean', deprecated: true, description: 'Nobody is.' } },
  required: ['name'],
};

const order: SourceSchema = {
  description: 'What a customer has ordered.\nIt must not end */ here.',
  properties: {
    total: { type: 'number', title: 'In euros.' },
    status: { enum: ['open', 'done', "it's"] },
    customer_id: { type: 'string', reference: 'Customer' },
    due: { type: ['string', 'null'], format: 'date' },
    address: {
      type: 'object',
      properties: { city: { type: 'string' }, 'post code': { type: 'integer' }, größe: { type: 'number' } },
      required: ['city'],
    },
    lines: { type: 'array', items: { type: 'object', properties: { count: { type: 'integer' } } } },
    photos: { type: 'array', items: { format: 'file' } },
    kinds: {
      type: 'array',
      items: {
        enum: ['the first kind of all of them', 'the second kind of all of them', 'a third one', 'and a fourth'],
      },
    },
    state: {
      enum: ['the first state of all of them', 'the second state of all of them', 'a third one', 'and a fourth'],
    },
    matrix: { type: 'array', items: { type: 'array', items: { type: ['number', 'string'] } } },
    pair: { const: { a: [1, null] } },
    extra: {},
  },
  required: ['total', 'customer_id', 'remark'],
};

const sources: readonly DescribedSource[] = [
  sourceOf('Order', order, {
    version: 3,
    references: { customer_id: 'Customer' },
    steps: [
      [{ step: 'rename', attribute: 'sum', to: 'total' }],
      [
        { step: 'map', attribute: 'status', values: [...pairs(['new', 'open']), ...pairs(['closed', 'done'])] },
        { step: 'nest', into: 'address', members: { the_city: 'city', the_post_code: 'post code', the_size: 'größe' } },
        { step: 'remove', attribute: 'weight', otherwise: { value: null }, shown_as: { unit: 'kg', ['__proto__']: 1 } },
      ],
    ],
  }),
  sourceOf('Customer', customer),
  sourceOf('2024', null),
];

function pairs(pair: readonly [string, string]): readonly (readonly [string, string])[] {
  return [pair];
}

it('[TYPES-1] a source becomes a type with its attributes, those that are required, and what the schema says in words', () => {
  expect(typesIn(typescriptText([sourceOf('Customer', customer)]))).toBe(`export type Customer = {
  readonly name: string;
  /**
   * Nobody is.
   * @deprecated
   */
  readonly vip?: boolean;
};

`);
  expect(typescriptText([sourceOf('Customer', customer)])).toContain('/** A customer. */\nexport type Customer = {');
});

it('[TYPES-1] every statement of a schema becomes the type that it allows', () => {
  const allowed = (schema: SourceSchema['properties'][string]) =>
    / {2}readonly a\?: (.*);$/m.exec(typeOf({ properties: { a: schema } }))?.[1];
  expect(allowed({})).toBe('JsonValue');
  expect(allowed({ type: 'integer' })).toBe('number');
  expect(allowed({ type: ['null', 'integer', 'number'] })).toBe('number | null');
  expect(allowed({ type: 'null' })).toBe('null');
  expect(allowed({ const: 7 })).toBe('7');
  expect(allowed({ type: 'string', enum: ['a', 1, 'a', null] })).toBe("'a'");
  expect(allowed({ type: 'integer', enum: [1, 1.5] })).toBe('1');
  expect(allowed({ type: 'boolean', enum: ['a'] })).toBe('never');
  expect(allowed({ reference: 'Customer' })).toBe('string');
  expect(allowed({ format: 'file' })).toBe('FileValue');
  expect(allowed({ type: ['object', 'null'], format: 'file' })).toBe('FileValue | null');
  expect(allowed({ type: 'object' })).toBe('JsonObject');
  expect(allowed({ type: 'object', properties: { b: {} } })).toBe('OrderA');
  expect(allowed({ type: 'object', required: ['b'] })).toBe('OrderA');
  expect(allowed({ type: 'array' })).toBe('readonly JsonValue[]');
  expect(allowed({ type: 'array', items: { enum: ['a', 'b'] } })).toBe("readonly ('a' | 'b')[]");
  expect(allowed({ type: 'array', items: { type: 'object', properties: { b: {} } } })).toBe('readonly OrderAItem[]');
  expect(allowed({ const: { b: [1, 'c'], 'd e': {} } })).toBe("{ readonly b: readonly [1, 'c']; readonly 'd e': {} }");
});

it('[TYPES-2] names of types are legal, and each occurs once', () => {
  const schema: SourceSchema = { properties: { a: { type: 'string' } } };
  const names = (...given: string[]) => {
    const text = typescriptText(given.map((name) => sourceOf(name, schema)));
    return [...text.matchAll(/^ {2}readonly (\S+|'.*'): \{\n {4}readonly attributes: (\w+);/gmu)].map(
      ([, source, type]) => `${source}: ${type}`,
    );
  };
  expect(names('work order', 'work_order', 'WorkOrder', '2024', 'größe')).toEqual([
    "'2024': Source2024",
    'WorkOrder: WorkOrder',
    "'work order': WorkOrder2",
    'work_order: WorkOrder3',
  ]);
  expect(names('class', 'Sources', 'JsonValue', '—', "it's")).toEqual([
    'JsonValue: JsonValue2',
    'Sources: Sources2',
    'class: Class',
    `"it's": ItS`,
    "'—': Source",
  ]);
  // The type of a source keeps its name; that of a nested object gets another one.
  const nested = sourceOf('Order', { properties: { line: { type: 'object', properties: { b: {} } } } });
  const text = typescriptText([nested, sourceOf('OrderLine', schema)]);
  expect(text).toContain('readonly line?: OrderLine2;');
  expect(text).toContain('readonly attributes: OrderLine;');
});

it('[TYPES-3] the same sources give the same file, in whatever order they and their attributes come', () => {
  const turned = [...sources].reverse().map((source) => ({
    ...source,
    schema: source.schema && { ...source.schema, properties: turnedRecord(source.schema.properties) },
  }));
  expect(typescriptText(turned)).toBe(typescriptText(sources));
  expect(zodText(turned)).toBe(zodText(sources));
});

function turnedRecord<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).reverse());
}

it('[TYPES-4] a file has the versions of the sources that have a schema, with their steps, and imports nothing', async () => {
  const text = typescriptText(sources);
  expect(text).not.toMatch(/\bimport\b/);
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'tidemark.mts');
  writeFileSync(file, text);
  const { versions } = (await import(file)) as { versions: unknown };
  expect(versions).toEqual(
    Object.fromEntries(
      sources.filter(({ schema }) => schema).map(({ name, version, steps }) => [name, { version, steps }]),
    ),
  );
});

/** A source with lines of all lengths around the width of a page. */
function linesOfAllLengths(): DescribedSource {
  const lengths = Array.from({ length: 40 }, (_, at) => at + 10);
  const values = (length: number) => ({ enum: ['x'.repeat(length), 'y'.repeat(length)] });
  const properties = Object.fromEntries(
    lengths.flatMap((length) => [
      [`one_${length}`, { ...values(length), description: 'd'.repeat(2 * length + 20) }],
      [`list_${length}`, { type: 'array', items: values(length) }],
    ]),
  );
  const steps = lengths.map((length) => [
    { step: 'rename', attribute: 'x'.repeat(length), to: 'y'.repeat(length) } as const,
    { step: 'map', attribute: 'a', values: [['x'.repeat(length), 'y'.repeat(length)]] } as const,
  ]);
  return sourceOf('Long', { properties } as SourceSchema, { version: steps.length + 1, steps });
}

it('[TYPES-5] a file is formatted as Biome formats it', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const config = {
    formatter: { indentStyle: 'space', lineWidth: 120 },
    javascript: { formatter: { quoteStyle: 'single' } },
  };
  writeFileSync(join(folder.path, 'biome.json'), JSON.stringify(config));
  const biome = join(ROOT, 'node_modules/.bin/biome');
  const texts = {
    'types.ts': typescriptText(sources),
    'long.ts': typescriptText([linesOfAllLengths()]),
    'none.ts': typescriptText([]),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder.path, name), text);
  const run = spawnSync(biome, ['format', ...Object.keys(texts)], {
    cwd: folder.path,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  expect([run.status, run.stdout]).toEqual([0, '']);
});
