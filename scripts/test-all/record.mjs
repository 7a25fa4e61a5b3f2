import { spawnSync } from 'node:child_process';

const SUMMARY_UNITS_MAX = 160;
// biome's rule against control characters does not know that these are the colours of a terminal.
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** Returns what the end of a step's output says in a line: the counts of vitest, or the last line. */
export function summaryOf(output) {
  const lines = output
    .replace(COLOURS, '')
    .split('\n')
    .map((line) => line.trim());
  const counts = lines.filter((line) => /^(?:Test Files|Tests) /.test(line));
  const last = lines.findLast((line) => line !== '') ?? '';
  const text = counts.length > 0 ? counts.slice(-2).join('; ').replace(/\s+/g, ' ') : last;
  return text.length > SUMMARY_UNITS_MAX ? `${text.slice(0, SUMMARY_UNITS_MAX)}…` : text;
}

/** Returns the commit of a checkout, marked if files differ from it. */
export function currentCommit(root) {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? '';
  const commit = git('rev-parse', '--short=12', 'HEAD');
  return git('status', '--porcelain', '--untracked-files=no') === '' ? commit : `${commit} with changes`;
}

/** Returns the page about a run: only what was run has a result. */
export function recordText({ startedAt, commit, node, cores, steps }, results) {
  const rows = results.map(({ name, command, finds, hasPassed, seconds, summary }) => {
    const [good, bad] = finds === undefined ? ['passed', '**failed**'] : ['found', '**not found**'];
    const cells = [name, `\`${command.join(' ')}\``, hasPassed ? good : bad, timeText(seconds), inCell(summary)];
    return `| ${cells.join(' | ')} |`;
  });
  const left = steps.filter(({ name }) => !results.some((result) => result.name === name)).map(({ name }) => name);
  const lines = [
    '# Record of the long tests',
    '',
    `\`npm run test:all\` has written this page. The run began at ${startedAt}, on the commit \`${commit}\`, with Node.js ${node} on ${cores} cores.`,
    '[Run the proof yourself](proof.md) explains the commands.',
    '',
    '| Step | Command | Result | Time | What it said at the end |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    left.length === 0 ? 'All steps were run.' : `Not run: ${left.join(', ')}.`,
    '',
  ];
  return lines.join('\n');
}

function timeText(seconds) {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

/** Text of programs, so that nothing in it is Markdown. */
function inCell(text) {
  return text === '' ? '' : `\`${text.replaceAll('`', "'").replaceAll('|', '/')}\``;
}
