import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceSchema } from '@tidemark/protocol';
import { newTypescriptApp, type TypescriptApp } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DescribedSource } from './described-source.ts';
import { typescriptText } from './typescript.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/guides/types.md'), 'utf8');

/** The samples of the guide that are of this language, in order. */
function samples(language: string): readonly string[] {
  return [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, sample = '']) => sample);
}

const [ORDER = ''] = samples('json');
const [TYPES = '', DEVICE = '', MISTAKES = '', COLLECTION = '', BACKEND = '', TEST = '', ...OTHERS] = samples('ts');
const [HOOKS = ''] = samples('tsx');

const NAMED = { version: 1, steps: [] };
const customer: SourceSchema = { properties: { name: { type: 'string' } }, required: ['name'] };
const sources: readonly DescribedSource[] = [
  { ...NAMED, name: 'Customer', references: {}, schema: customer },
  { ...NAMED, name: 'Order', references: { customer_id: 'Customer' }, schema: JSON.parse(ORDER) as SourceSchema },
];

let app: TypescriptApp;

beforeAll(async () => {
  const modules = { module: 'nodenext', allowImportingTsExtensions: true, jsx: 'react-jsx' };
  app = await newTypescriptApp({ ...modules, types: ['node'] });
  app.write({ 'tidemark.ts': typescriptText(sources), 'device.ts': DEVICE, 'hooks.tsx': HOOKS });
  app.write({ 'collection.ts': COLLECTION, 'backend.ts': BACKEND, 'order.spec.ts': TEST });
});

afterAll(() => app.remove());

describe('the guide about types', () => {
  it('[TYPES-40] the schema of the guide becomes the types that the guide shows', () => {
    expect(typescriptText(sources)).toContain(TYPES);
  });

  it('[TYPES-40] the samples of the guide compile, and each line that it calls a mistake does not', () => {
    expect(OTHERS).toEqual([]);
    expect(app.compile().output).toBe('');
    app.write({ 'mistakes.ts': MISTAKES });
    const wrong = MISTAKES.split('\n').flatMap((line, at) => (line.includes('//') ? [`mistakes.ts(${at + 1})`] : []));
    expect(wrong).toHaveLength(6);
    expect(app.compile().places).toEqual(wrong);
  });

  it('[TYPES-40] the test of the guide passes', async () => {
    const { total } = (await import(join(app.path, 'order.spec.ts'))) as { readonly total: unknown };
    expect(total).toBe(12);
  });
});
