import { readdirSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { didYouMean } from '@tidemark/protocol';
import type { SettingProblem } from './config-problem.ts';
import type { Settings } from './schema.ts';

/** Adapters that every server has. */
const ALWAYS = ['none', 'backend'];
const FILES_MAX = 1_000;

/** Returns configured sources whose adapter does not exist. No module is run for it: its name is looked for in its text. */
export function adapterProblems({ sources, app }: Pick<Settings, 'sources' | 'app'>): readonly SettingProblem[] {
  const asked = sources.flatMap(({ name, adapter }, index) =>
    adapter === undefined ? [] : [{ name, adapter, index }],
  );
  const strange = asked.filter(({ adapter }) => !ALWAYS.includes(adapter));
  if (strange.length === 0) return [];
  const modules = app === null ? [] : modulesIn(app);
  const known = [...ALWAYS, ...modules.map(({ name }) => name)];
  return strange
    .filter(({ adapter }) => !known.includes(adapter) && !modules.some(({ text }) => namesItself(text, adapter)))
    .map(({ name, adapter, index }) => {
      const near = didYouMean(adapter, known);
      const rule = `must be one of ${known.join(', ')}, not ${JSON.stringify(adapter)}`;
      const detail = `sources[${index}].adapter of ${name} ${rule}${near === null ? '' : `; did you mean ${near}?`}`;
      return { setting: 'sources', origin: 'sources', detail };
    });
}

/** A module has the name of its file, unless it names itself. */
function modulesIn(app: string): readonly { readonly name: string; readonly text: string }[] {
  const folder = join(app, 'sources');
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .slice(0, FILES_MAX)
      .map(({ name: file }) => ({ name: parse(file).name, text: readFileSync(join(folder, file), 'utf8') }));
  } catch {
    // An app without the folder has no modules.
    return [];
  }
}

function namesItself(text: string, name: string): boolean {
  return [`'${name}'`, `"${name}"`, `\`${name}\``].some((quoted) => text.includes(quoted));
}
