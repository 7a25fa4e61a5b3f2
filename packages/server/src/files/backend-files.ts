import type { Readable } from 'node:stream';
import type { FileEngine, StoredFile } from '@tidemark/files';
import { asRefusals, type FileRights, hashMismatch, removedMeanwhile, requireSize } from './file-uploads.ts';
import { receiveBytes } from './receive-bytes.ts';

const BACKEND = { kind: 'backend' } as const;
/** The call that brings the bytes is the only one that works on them. */
const alone = { signal: new AbortController().signal, touch: () => {} };

/** What a backend sends. */
export interface BackendFile {
  /** The hash that the bytes must have; null: any. */
  readonly sha256: string | null;
  /** The announced size; null: it is not known. */
  readonly size: number | null;
  /** Undefined: no bytes. */
  readonly body: Readable | undefined;
}

export interface BackendFilesParts {
  readonly engine: FileEngine;
  readonly rights: FileRights;
  readonly sizeMax: number;
}

/** Stores files that backends send. A call brings a whole file, or nothing of it stays. */
export class BackendFiles {
  readonly #parts: BackendFilesParts;

  constructor(parts: BackendFilesParts) {
    this.#parts = parts;
  }

  async store({ sha256, size, body }: BackendFile): Promise<Pick<StoredFile, 'sha256' | 'size'>> {
    const { engine, rights, sizeMax } = this.#parts;
    if (size !== null) requireSize(size, sizeMax);
    if (sha256 !== null && size !== null && (await this.#isPresent(sha256, size))) return { sha256, size };
    const chunks = body === undefined ? noBytes() : receiveBytes(body, alone);
    const stored = await asRefusals(() =>
      engine.write(chunks, {
        bytesMax: sizeMax,
        admit: async (written) => {
          if (sha256 !== null && written.sha256 !== sha256) throw hashMismatch();
          await rights.arriving({ ...written, by: BACKEND });
        },
      }),
    );
    await rights.stored({ sha256: stored.sha256, size: stored.size, by: BACKEND });
    // Whoever removes a damaged file may have taken this one for it until now.
    if ((await asRefusals(() => engine.stat(stored.sha256))) === null) {
      await rights.lost(stored.sha256);
      throw removedMeanwhile(stored.sha256);
    }
    return stored;
  }

  /** The bytes of a file that is stored need not be read. */
  async #isPresent(sha256: string, size: number): Promise<boolean> {
    const { engine, rights } = this.#parts;
    if ((await rights.begin({ sha256, size, by: BACKEND })) !== 'present') return false;
    return (await asRefusals(() => engine.stat(sha256)))?.size === size;
  }
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}
