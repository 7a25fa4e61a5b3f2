import { expect, it } from 'vitest';
import { ROOT } from './processes.mjs';
import { readRules, readTests, ruleProblems } from './rules.mjs';

const RULES = '# Rules\n\n- **[PAGE-1]** A page is bounded.\n- **[DOC-NAME-2]** A name is kept.\n';
const TESTS = `it('[PAGE-1] a page ends', () => {});\nit(\`[DOC-NAME-2] \${name} is kept\`, () => {});\n`;

function found(rules, tests) {
  return ruleProblems(rules, new Map([['packages/core/src/pages/page.test.ts', tests]]));
}

it('the rules of docs/rules.md and those the tests cite are the same', () => {
  expect(ruleProblems(readRules(ROOT), readTests(ROOT))).toEqual([]);
});

it('finds nothing where both sides agree', () => {
  expect(found(RULES, TESTS)).toEqual([]);
});

it('tells a rule without a test', () => {
  expect(found(`${RULES}- **[PAGE-3]** Nobody tests this.\n`, TESTS)).toEqual([
    'docs/rules.md:5 the rule PAGE-3 is cited by no test',
  ]);
});

it('tells a citation without a rule', () => {
  expect(found(RULES, `${TESTS}\ndescribe('[PAGE-9] unheard of', () => {});\n`)).toEqual([
    'packages/core/src/pages/page.test.ts:4 cites PAGE-9, which docs/rules.md does not define',
  ]);
});

it('tells a rule that is defined twice', () => {
  expect(found(`${RULES}- **[PAGE-1]** Again.\n`, TESTS)).toEqual([
    'docs/rules.md:5 defines PAGE-1 again, after line 3',
  ]);
});

it.each(['- [PAGE-1] No bold.', '- **[PAGE-01]** A zero.', '* **[PAGE-1]** A star.', '- **[PAGE-1]**'])(
  'tells a definition of the wrong form: %s',
  (line) => {
    expect(found(`${RULES}${line}\n`, TESTS)).toEqual(['docs/rules.md:5 is not of the form "- **[PAGE-3]** text"']);
  },
);

it('a skipped test, a comment and the middle of a title cite nothing', () => {
  const tests = "it.skip('[PAGE-1] a', f);\nit.todo('[PAGE-1] b');\n// it('[PAGE-1] c', f);\nit('d [PAGE-1]', f);\n";
  expect(found('- **[PAGE-1]** A page is bounded.\n', tests)).toEqual([
    'docs/rules.md:1 the rule PAGE-1 is cited by no test',
  ]);
});

it('one title may cite several rules', () => {
  expect(found(RULES, "it('[PAGE-1] [DOC-NAME-2] both at once', () => {});")).toEqual([]);
});

it('looks at tests and at contract suites', () => {
  const paths = [...readTests(ROOT).keys()];
  expect(paths).toContain('scripts/pack.test.mjs');
  expect(paths.filter((path) => !/\.test\.(?:ts|mjs)$|\/contracts\//.test(path))).toEqual([]);
});
