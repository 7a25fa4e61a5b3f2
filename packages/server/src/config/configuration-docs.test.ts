import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from './load-config.ts';
import { SETTINGS, type Setting } from './settings.ts';

const TEXT = readFileSync(new URL('../../../../docs/operating/configuration.md', import.meta.url), 'utf8');

/** Returns the rows of the settings table. */
function rowsOf(markdown: string): readonly (readonly string[])[] {
  const [, table = ''] = markdown.split('## Every setting');
  const lines = table.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) => line.slice(2, -2).split(' | '));
}

function rowOf({ name, default: value, env, flag, description, rule }: Setting): readonly string[] {
  const code = (text: unknown) => (text === null ? '–' : `\`${Array.isArray(text) ? '[]' : text}\``);
  const meaning = `${description} ${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`;
  return [code(name), code(value), code(env), code(flag), meaning];
}

it('[CONF-11] docs/operating/configuration.md lists every setting as the schema defines it', () => {
  expect(rowsOf(TEXT)).toEqual(SETTINGS.map(rowOf));
});

it('[CONF-11] the sample in docs/operating/configuration.md is a valid configuration', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const [, sample = ''] = /```json\n([\s\S]*?)```/.exec(TEXT) ?? [];
  writeFileSync(join(folder.path, 'tidemark.config.json'), sample);
  const { config, warnings } = loadConfig({ env: {}, folder: folder.path, userId: 1000 });
  expect(config).toMatchObject({ publicUrl: 'https://sync.example', limits: { objectsPerWriteMax: 50_000 } });
  expect(config.sources.map(({ name }) => name)).toEqual(['Product', 'Order']);
  expect(warnings).toEqual([]);
});
