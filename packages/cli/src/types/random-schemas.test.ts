import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { JsonValue, SourceSchema, ValueFormat, ValueSchema } from '@tidemark/protocol';
import { newTypescriptApp, Rng, seededRandom } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { DescribedSource } from './described-source.ts';
import { typescriptText } from './typescript.ts';
import { zodText } from './zod.ts';

const SOURCES = 120;
const BIOME = {
  formatter: { indentStyle: 'space', lineWidth: 120 },
  javascript: { formatter: { quoteStyle: 'single' } },
};

/** Names that are legal and make trouble in code, besides plain ones. */
const NAMES = ['a', 'b', 'city', 'class', 'größe', '1', '-', 'a b', "it's", '"', '\\', '*/', '😀', '$', '`'];
const TEXTS = [
  ...NAMES,
  'open',
  'done',
  'a rather long text that takes its place on a line',
  '\n',
  '\u2028',
  'both \' and "',
];

class RandomSchemas {
  readonly #rng: Rng;

  constructor(seed: number) {
    this.#rng = new Rng(seededRandom(seed));
  }

  source(name: string): DescribedSource {
    const schema = this.#object(3);
    const version = this.#rng.between(1, 3);
    const steps = Array.from({ length: version - 1 }, () =>
      Array.from({ length: this.#rng.below(3) }, () => ({
        step: 'map' as const,
        attribute: this.#text(),
        values: Array.from({ length: this.#rng.below(4) }, () => [this.#text(), this.#scalar()] as const),
      })),
    );
    return { name, schema, version, steps, references: {} };
  }

  /** A value that the schema accepts. */
  value(schema: ValueSchema | SourceSchema): JsonValue {
    const { enum: listed, format } = schema as ValueSchema;
    if (listed !== undefined) return this.#rng.pick(listed);
    if (format === 'file') return { $file: { sha256: 'a', size: 1, type: 'image/png' } };
    const type = this.#rng.pick([(schema as ValueSchema).type ?? (['string', 'null', 'object'] as const)].flat());
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return this.#rng.chance(50);
      case 'number':
      case 'integer':
        return this.#rng.below(100);
      case 'array':
        return Array.from({ length: this.#rng.below(3) }, () => this.value((schema as ValueSchema).items ?? {}));
      case 'object':
        return this.#members(schema);
      default:
        return format === undefined ? this.#text() : (TEXT_OF[format] ?? '');
    }
  }

  #members({ properties = {}, required = [] }: ValueSchema | SourceSchema): JsonValue {
    const present = Object.entries(properties).filter(([name]) => required.includes(name) || this.#rng.chance(50));
    return Object.fromEntries(present.map(([name, schema]) => [name, this.value(schema)]));
  }

  #object(depth: number): SourceSchema & { readonly type: 'object' } {
    const names = this.#rng.shuffle(NAMES).slice(0, this.#rng.between(1, 6));
    const properties = Object.fromEntries(names.map((name) => [name, this.#schema(depth - 1)]));
    const required = names.filter(() => this.#rng.chance(40));
    return { type: 'object', ...this.#words(), properties, required, additionalProperties: this.#rng.chance(50) };
  }

  #schema(depth: number): ValueSchema {
    const words = this.#words();
    switch (this.#rng.below(depth > 0 ? 8 : 6)) {
      case 0:
        return { ...words, type: this.#rng.pick(['string', 'number', 'integer', 'boolean', 'null'] as const) };
      case 1:
        return { ...words, enum: Array.from({ length: this.#rng.between(1, 6) }, () => this.#scalar()) };
      case 2:
        return { ...words, type: this.#rng.shuffle(['string', 'number', 'null', 'boolean'] as const).slice(0, 2) };
      case 3:
        return { ...words, type: 'string', format: this.#rng.pick(Object.keys(TEXT_OF) as ValueFormat[]) };
      case 4:
        return { ...words, format: 'file' };
      case 5:
        return words;
      case 6:
        return { ...words, type: 'array', items: this.#schema(depth - 1) };
      default: {
        const { type, ...object } = this.#object(depth);
        return { ...object, type: this.#rng.chance(50) ? type : [type, 'null'] };
      }
    }
  }

  #words(): Pick<ValueSchema, 'title' | 'description' | 'deprecated'> {
    return {
      ...(this.#rng.chance(20) ? { title: this.#text() } : {}),
      ...(this.#rng.chance(20) ? { description: `${this.#text()} ${this.#text()}` } : {}),
      ...(this.#rng.chance(10) ? { deprecated: true } : {}),
    };
  }

  #text(): string {
    return this.#rng.pick(TEXTS);
  }

  #scalar(): string | number | boolean | null {
    return this.#rng.pick([this.#text(), this.#text(), this.#rng.below(10) / 2, this.#rng.chance(50), null]);
  }
}

const TEXT_OF: Readonly<Partial<Record<ValueFormat, string>>> = {
  date: '2026-11-19',
  'date-time': '2026-11-19T17:00:00Z',
  time: '17:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/a',
  uuid: '0190c8a4-6f8e-7c3a-9d2b-3f4c5d6e7f80',
};

it('[TYPES-8] whatever the schemas are, types and schemas of Zod compile strictly, and accept what the schemas accept', async () => {
  const random = new RandomSchemas(Number(process.env.TIDEMARK_TYPES_SEED ?? 1));
  const sources = Array.from({ length: SOURCES }, (_, at) => random.source(`Source ${at}`));
  const values = sources.map(({ schema }) => (schema === null ? null : random.value(schema)));
  const lines = values.map(
    (value, at) => `export const value${at}: Sources['Source ${at}']['attributes'] = ${literal(value)};`,
  );
  const app = await newTypescriptApp({ module: 'nodenext', allowImportingTsExtensions: true });
  onTestFinished(app.remove);
  const types = typescriptText(sources);
  app.write({
    'tidemark.ts': types,
    'values.ts': `import type { Sources } from './tidemark.ts';\n${lines.join('\n')}\n`,
    'zod.ts': zodText(sources),
    'biome.json': JSON.stringify(BIOME),
  });
  expect(app.compile().output).toBe('');
  const biome = join(import.meta.dirname, '../../../../node_modules/.bin/biome');
  const formatted = spawnSync(biome, ['format', 'tidemark.ts'], { cwd: app.path, encoding: 'utf8' });
  expect([formatted.status, formatted.stdout]).toEqual([0, '']);
  const schemas = await import(join(app.path, 'zod.ts'));
  const refused = values.filter((value, at) => !schemas[`Source${at}`].safeParse(value).success);
  expect(refused).toEqual([]);
});

function literal(value: JsonValue): string {
  return JSON.stringify(value);
}
