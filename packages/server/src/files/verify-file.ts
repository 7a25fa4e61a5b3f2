import { createHash } from 'node:crypto';
import { type FileEngine, FileFault } from '@tidemark/files';
import { asRefusals } from './file-uploads.ts';

export type FileProblem = 'missing' | 'damaged';

/** Reads a file and compares its bytes with its hash. Null: nothing is wrong. */
export async function findProblem(engine: Pick<FileEngine, 'read'>, sha256: string): Promise<FileProblem | null> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of engine.read(sha256)) hash.update(chunk);
  } catch (error) {
    if (error instanceof FileFault && error.kind === 'no_file') return 'missing';
    return asRefusals(() => Promise.reject(error));
  }
  return hash.digest('hex') === sha256 ? null : 'damaged';
}
