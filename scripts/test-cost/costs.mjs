import { existsSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../node_modules/.cache/tidemark/', import.meta.url);
/** What the test files of the last run cost: a line with milliseconds of CPU time and the name of the file for each. */
export const COST_LINES = new URL('test-cost.txt', FOLDER);

/** Returns what the files of the last run cost: file → milliseconds. */
export function readCosts(from = COST_LINES) {
  const lines = existsSync(from) ? readFileSync(from, 'utf8').split('\n') : [];
  const rows = lines.map((line) => /^(\d+) (.+)$/.exec(line)).filter((row) => row !== null);
  return new Map(rows.map(([, ms, file]) => [file, Number(ms)]));
}

/** Returns the `count` dearest files with their costs, the dearest first. */
export function dearest(costs, count) {
  return [...costs].sort(([, left], [, right]) => right - left).slice(0, count);
}

/** Returns the files that cost more than their budget, in seconds. A file without a budget of its own may cost `others`. */
export function overBudget(costs, { others, files }) {
  return dearest(costs, costs.size).flatMap(([file, ms]) => {
    const budget = files[file] ?? others;
    return ms > budget * 1_000 ? [{ file, ms, budget }] : [];
  });
}

export function secondsText(ms) {
  return `${(ms / 1_000).toFixed(1)} s`.padStart(8);
}
