import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTree, report } from './files.mjs';
import { isEntry, ROOT } from './processes.mjs';

const RULES_FILE = 'docs/rules.md';
const ID = '[A-Z]+(?:-[A-Z]+)*-[1-9][0-9]*';
const CITATIONS = new RegExp(`['"\`]((?:\\[${ID}\\]\\s*)+)`, 'g');
const NOT_RUN = /\.(?:skip|todo)\s*\(\s*$|(?:^|\n)\s*(?:\/\/|\*)[^\n]*$/;

/**
 * Every rule has a test, and every rule a test cites is written down.
 *
 * @param {string} rulesText the text of docs/rules.md
 * @param {Map<string, string>} tests path → source text
 * @returns {string[]} what is wrong
 */
export function ruleProblems(rulesText, tests) {
  const { defined, problems } = definitionsOf(rulesText);
  const cited = citationsOf(tests);
  for (const [id, line] of defined) {
    if (!cited.has(id)) problems.push(`${RULES_FILE}:${line} the rule ${id} is cited by no test`);
  }
  for (const [id, place] of cited) {
    if (!defined.has(id)) problems.push(`${place} cites ${id}, which ${RULES_FILE} does not define`);
  }
  return problems;
}

export function readRules(root) {
  const file = join(root, RULES_FILE);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

export function readTests(root) {
  // The test of this script holds titles in strings, which are no tests.
  const pattern = /(?<!scripts\/rules)\.test\.(?:ts|tsx|mjs)$|^packages\/(?:client-)?testing\/src\/contracts\/.*\.ts$/;
  return readTree(root, ['packages', 'bench', 'scripts', 'examples'], pattern);
}

/** A definition is a line that begins with `- **[PAGE-3]** `. */
function definitionsOf(text) {
  const defined = new Map();
  const problems = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (!/^\s*[-*]\s+\**\[[A-Z]/.test(line)) continue;
    const id = new RegExp(`^- \\*\\*\\[(${ID})\\]\\*\\* \\S`).exec(line)?.[1];
    if (id === undefined) problems.push(`${RULES_FILE}:${index + 1} is not of the form "- **[PAGE-3]** text"`);
    else if (defined.has(id))
      problems.push(`${RULES_FILE}:${index + 1} defines ${id} again, after line ${defined.get(id)}`);
    else defined.set(id, index + 1);
  }
  return { defined, problems };
}

/** A citation is the beginning of a test's title. A skipped test checks nothing, so it cites nothing. */
function citationsOf(tests) {
  const cited = new Map();
  for (const [path, text] of tests) {
    for (const { index, 1: ids } of text.matchAll(CITATIONS)) {
      const before = text.slice(0, index);
      if (NOT_RUN.test(before)) continue;
      const place = `${path}:${before.split('\n').length}`;
      for (const [id] of ids.matchAll(new RegExp(ID, 'g'))) if (!cited.has(id)) cited.set(id, place);
    }
  }
  return cited;
}

if (isEntry(import.meta.url)) {
  report(
    ruleProblems(readRules(ROOT), readTests(ROOT)),
    'every rule is cited by a test, and every cited rule is defined',
  );
}
