import { describe, expect, it } from 'vitest';
import { flushProblems } from './flushes.mjs';

const DATA = '7 pwrite64(19</d/store.mdb>, "x"..., 4096, 8192) = 4096';
const META = '7 pwrite64(20</d/store.mdb>, "x"..., 128, 40) = 128';
const FLUSH = '7 fdatasync(19</d/store.mdb>) = 0';
const OPEN = '7 openat(AT_FDCWD</d>, "/d/store.mdb", O_RDWR|O_DSYNC|O_CLOEXEC) = 20</d/store.mdb>';
const answer = (number) => `6 write(1<pipe:[9]>, "ANSWERED ${number}\\n", 11) = 11`;
const problems = (...lines) => flushProblems([OPEN, ...lines].join('\n'), 1);

describe('flushes', () => {
  it('[EMB-10] are seen where every commit is flushed before its answer', () => {
    expect(problems(DATA, FLUSH, META, answer(0))).toEqual([]);
    expect(
      problems(DATA, '7 fdatasync(19</d/store.mdb> <unfinished ...>', '7 <... fdatasync resumed>) = 0', answer(0)),
    ).toEqual([]);
  });

  it('[EMB-10] are missed where one comes too late, fails, or never comes', () => {
    const late = ['commit 0 was answered before it was flushed'];
    expect(problems(DATA, META, answer(0), FLUSH)).toEqual(late);
    expect(problems(FLUSH, DATA, answer(0))).toEqual(late);
    expect(problems(DATA, '7 fdatasync(19</d/store.mdb>) = -1 EIO (Input/output error)', answer(0))).toEqual(late);
    expect(problems(DATA, '7 fdatasync(19</d/store.mdb> <unfinished ...>', answer(0))).toEqual(late);
  });

  it('[EMB-10] nothing written and nothing answered is no proof', () => {
    expect(problems(answer(0))).toEqual(['commit 0 was answered, and nothing had been written']);
    expect(problems(DATA, FLUSH)).toEqual(['there were 0 answers instead of 1']);
  });
});
