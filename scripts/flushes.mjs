import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isEntry, ROOT } from './processes.mjs';
import { setup } from './setup.mjs';

/**
 * `node scripts/flushes.mjs`: looks at the system calls of a store, to see that nothing is answered before it is on the disk. A
 * killed process cannot show that, because what it wrote survives it; only a power failure, or `strace`, can. It is a
 * command of its own because `strace` is not everywhere.
 */
const COMMITS = 20;
const CALLS = 'write,writev,pwrite64,pwritev,fsync,fdatasync,msync,openat';

const PROGRAM = `
  const { writeSync } = await import('node:fs');
  const { openEmbeddedStore } = await import(${JSON.stringify(join(ROOT, 'packages/store-embedded/dist/index.js'))});
  const store = await openEmbeddedStore({ folder: process.argv[1] });
  for (let number = 0; number < ${COMMITS}; number++) {
    const change = { id: 'o' + number, record: '"o' + number + '":{"a":1}', checksum: 1 };
    writeSync(1, 'ASKED ' + number + '\\n');
    await store.commit({ partition: { source: 's', owner: { kind: 'shared' } }, changes: [change], guards: [] });
    writeSync(1, 'ANSWERED ' + number + '\\n');
  }
  await store.close();
`;

/**
 * What is wrong in a log of `strace -f -y`: commits answered before what they wrote was flushed, or without having
 * written anything. Writes to a descriptor opened with O_DSYNC are flushed when they return.
 *
 * @param {string} log
 * @param {number} commits how many answers there must be
 * @returns {string[]}
 */
export function flushProblems(log, commits) {
  const problems = [];
  const state = { synced: new Set(), writes: 0, isFlushed: true };
  let answers = 0;
  for (const line of log.split('\n')) {
    followCall(state, line);
    const answered = /write\(1<[^>]*>, "ANSWERED (\d+)/.exec(line);
    if (answered === null) continue;
    answers++;
    if (state.writes === 0) problems.push(`commit ${answered[1]} was answered, and nothing had been written`);
    else if (!state.isFlushed) problems.push(`commit ${answered[1]} was answered before it was flushed`);
    state.writes = 0;
  }
  if (answers !== commits) problems.push(`there were ${answers} answers instead of ${commits}`);
  return problems;
}

function followCall(state, line) {
  const opened = /openat\(.*store\.mdb", ([A-Z_|]+)[^)]*\) += (\d+)/.exec(line);
  if (opened?.[1].includes('SYNC')) state.synced.add(opened[2]);
  const written = /(?:pwrite64|pwritev|writev|write)\((\d+)<[^>]*store\.mdb>/.exec(line);
  if (written !== null) {
    state.writes++;
    if (!state.synced.has(written[1])) state.isFlushed = false;
  }
  if (/(?:fsync|fdatasync|msync)(?:\(.*\)| resumed>.*\)) += 0/.test(line)) state.isFlushed = true;
}

function main() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-flushes-'));
  const log = join(folder, 'strace.log');
  const program = ['node', '--input-type=module', '-e', PROGRAM, join(folder, 'data')];
  const { error, status, stderr } = spawnSync('strace', ['-f', '-y', '-e', `trace=${CALLS}`, '-o', log, ...program]);
  if (error !== undefined || status !== 0) {
    process.stderr.write(`strace did not run: ${error?.message ?? stderr}\n`);
    rmSync(folder, { recursive: true, force: true });
    return 2;
  }
  const problems = flushProblems(readFileSync(log, 'utf8'), COMMITS);
  rmSync(folder, { recursive: true, force: true });
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  if (problems.length === 0) process.stdout.write(`${COMMITS} commits, each flushed before it was answered\n`);
  return problems.length === 0 ? 0 : 1;
}

if (isEntry(import.meta.url)) {
  await setup();
  process.exitCode = main();
}
