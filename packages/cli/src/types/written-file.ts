import type { JsonValue } from '@tidemark/protocol';
import { type DescribedSource, sortedEntries } from './described-source.ts';
import { type Layout, prefixed, recordLayout, render, suffixed } from './layout.ts';
import { keyText, literalOf, quoted } from './literals.ts';

/** Stands in every file that is written, so that no other file is overwritten. */
export const MARK = 'Written by tidemark types';

/** The first line of every file of code. */
export const HEADER = `// ${MARK} from the schemas of the sources. Do not change it by hand: run the command again.
`;

/** The type that apps give to `openDevice`. */
export function sourcesText(sources: readonly (DescribedSource & { readonly type: string })[]): string {
  const members = sources.map(({ name, type, references }) => {
    const targets = sortedEntries(references).map(
      ([attribute, source]) => `      readonly ${keyText(attribute)}: ${quoted(source)};\n`,
    );
    const own = targets.length === 0 ? '' : `    readonly references: {\n${targets.join('')}    };\n`;
    return `  readonly ${keyText(name)}: {\n    readonly attributes: ${type};\n${own}  };\n`;
  });
  const body = members.length === 0 ? '{}' : `{\n${members.join('')}}`;
  return `/** The types of all sources, for \`openDevice<Sources>\`. */\nexport type Sources = ${body};\n`;
}

/** The versions that devices translate from. */
export function versionsText(sources: readonly DescribedSource[]): string {
  const members = sources
    .filter(({ schema }) => schema !== null)
    .map(({ name, version, steps }): readonly [string, Layout] => {
      const stepsOf = literalOf(steps as unknown as JsonValue);
      return [
        keyText(name),
        recordLayout([
          ['version', String(version)],
          ['steps', stepsOf],
        ]),
      ];
    });
  const value = suffixed(prefixed('export const versions = ', recordLayout(members, true)), ' as const;');
  return `/** The versions of the schemas that these types are of, for \`openDevice<Sources>({ versions, … })\`. */\n${render(value, 0)}\n`;
}
