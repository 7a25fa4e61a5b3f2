import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './processes.mjs';

const FOLDER = join(ROOT, 'docs/decisions');
/** The relations of a record to others, with the one that the other record has to name in return. */
const INVERSE = {
  amends: 'amended by',
  'amended by': 'amends',
  supersedes: 'superseded by',
  'superseded by': 'supersedes',
};
const LINK = String.raw`\[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\)`;
const RELATION = new RegExp(`^(${Object.keys(INVERSE).join('|')}) (${LINK}(?:, ${LINK})*)$`);

/** @returns {Map<string, { file: string, title: string, status: string }>} */
function readRecords() {
  const files = readdirSync(FOLDER).filter((file) => /^\d{4}-/.test(file));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(FOLDER, file), 'utf8');
      const [, title = ''] = /^# \d{4}: (.*)$/m.exec(text) ?? [];
      return [file.slice(0, 4), { file, title, status: statusIn(text) }];
    }),
  );
}

/** The status is the third line of a record, so that it stands at the same place in all of them. */
function statusIn(text) {
  return /^\*\*Status:\*\* (.*)$/.exec(text.split('\n')[2] ?? '')?.[1] ?? '';
}

/** The relations that a status names: `accepted; amends [0001](0001-a.md)`. Null: it is not of this form. */
function relationsIn(status) {
  const [state, ...rest] = status.split('; ');
  const parts = state === 'accepted' ? rest : [state, ...rest];
  const matches = parts.map((part) => RELATION.exec(part));
  if (matches.includes(null) || (state !== 'accepted' && !state.startsWith('superseded by '))) return null;
  return matches.flatMap(([, verb, links]) => [...links.matchAll(/\[(\d{4})\]/g)].map(([, number]) => [verb, number]));
}

describe('decision records', () => {
  it('[DOCS-84] a status is one line of one form, and a record names those that supersede or amend it', () => {
    const records = readRecords();
    const wrong = [...records].flatMap(([number, { file, status }]) => {
      const relations = relationsIn(status);
      if (relations === null) return [`${file}: the third line must be "**Status:** accepted" or "… superseded by …"`];
      return relations.flatMap(([verb, other]) => {
        const back = relationsIn(records.get(other)?.status ?? '') ?? [];
        const isNamed = back.some(([way, one]) => way === INVERSE[verb] && one === number);
        return isNamed ? [] : [`${file} ${verb} ${other}, but ${other} does not say "${INVERSE[verb]} ${number}"`];
      });
    });
    expect(wrong).toEqual([]);
  });

  it('[DOCS-84] other forms of a status are found', () => {
    const text = (line) => `# 0009: A\n\n${line}\n`;
    expect(statusIn(text('**Status:** accepted'))).toBe('accepted');
    expect(['Status: accepted', '**Status** accepted', '## Status'].map((line) => statusIn(text(line)))).toEqual([
      '',
      '',
      '',
    ]);
    expect(relationsIn('superseded by [0002](0002-b.md); amended by [0003](0003-c.md), [0004](0004-d.md)')).toEqual([
      ['superseded by', '0002'],
      ['amended by', '0003'],
      ['amended by', '0004'],
    ]);
    const others = ['', 'Accepted.', 'accepted; see [0002](0002-b.md)', 'superseded', 'amends [0002](0002-b.md)'];
    expect(others.map(relationsIn)).toEqual(others.map(() => null));
  });

  it('[DOCS-85] the index lists every record once, in an area, with its title and status, and ten to read first', () => {
    const index = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    const rows = [...index.matchAll(/^\| \[\d{4}\]\(.*$/gm)].map(([row]) => row);
    const expected = [...readRecords()].map(
      ([number, { file, title, status }]) => `| [${number}](${file}) | ${title} | ${status} |`,
    );
    expect(rows.sort()).toEqual(expected.sort());
    expect(index.match(/^\| \[\d{4}: /gm)).toHaveLength(10);
  });
});
