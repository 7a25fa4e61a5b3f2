import { type Finding, isFileStored, type Store, storedFiles } from '@tidemark/core';
import type { FileEngine } from '@tidemark/files';
import { findProblem } from '../files/verify-file.ts';

const FINDINGS = { missing: 'missing_file', damaged: 'damaged_file' } as const;

/** Reads every file that the store calls stored, and yields those that are gone or have other bytes. Null: there is no place. */
export async function* verifyFiles(
  store: Store,
  engine: Pick<FileEngine, 'read' | 'place'> | null,
): AsyncGenerator<Finding> {
  for await (const { sha256 } of storedFiles(store)) {
    const problem = engine === null ? 'missing' : await findProblem(engine, sha256);
    // A file may be removed while others are read.
    if (problem === null || !(await isFileStored(store, sha256))) continue;
    const where = engine === null ? 'there is no folder with files' : `it is ${problem} in ${engine.place}`;
    yield { partition: null, problem: FINDINGS[problem], detail: `file ${sha256}: ${where}` };
  }
}
