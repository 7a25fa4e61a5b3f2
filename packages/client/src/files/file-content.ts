import { clientError } from '../client-error.ts';

/** The part of `Blob` that is used here; `File` has a name, too. */
interface BlobLike {
  readonly size: number;
  readonly type: string;
  readonly name?: string;
  slice(from: number, to: number): { arrayBuffer(): Promise<ArrayBuffer> };
  arrayBuffer?(): Promise<ArrayBuffer>;
}

interface StreamLike {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/** The bytes of a file: a `Blob` or `File`, a stream of the web or of Node.js, or bytes. */
export type FileContent = BlobLike | StreamLike | AsyncIterable<Uint8Array> | ArrayBuffer | Uint8Array;

export function isBlob(content: FileContent): content is BlobLike {
  return 'slice' in content && 'size' in content;
}

/** Yields the content in pieces of so many bytes, of which the last one may be shorter. */
export async function* piecesOf(content: FileContent, bytes: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (isBlob(content)) yield* slicesOf(content, bytes);
  else yield* joined(chunksOf(content), bytes);
}

async function* slicesOf(blob: BlobLike, bytes: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  // A picked file that was deleted meanwhile has no size in Chromium, and only reading it as a whole rejects.
  if (blob.size === 0) await blob.arrayBuffer?.();
  for (let at = 0; at < blob.size; at += bytes) {
    const end = Math.min(blob.size, at + bytes);
    const slice = new Uint8Array(await blob.slice(at, end).arrayBuffer());
    if (slice.length !== end - at) throw clientError('invalid_file', 'the file has become shorter while it was read');
    yield slice;
  }
}

async function* joined(chunks: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const piece = new Uint8Array(bytes);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const end = Math.min(chunk.length, at + bytes - filled);
      piece.set(chunk.subarray(at, end), filled);
      filled += end - at;
      at = end;
      if (filled < bytes) continue;
      yield piece.slice();
      filled = 0;
    }
  }
  if (filled > 0) yield piece.slice(0, filled);
}

async function* chunksOf(content: Exclude<FileContent, BlobLike>): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) yield content;
  else if ('getReader' in content) yield* readFrom(content);
  else if (Symbol.asyncIterator in content) yield* content;
  else yield new Uint8Array(content);
}

/** Not every browser can iterate over a stream. */
async function* readFrom(stream: StreamLike): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    while (!isDone) {
      const { done, value } = await reader.read();
      isDone = done;
      if (value !== undefined) yield value;
    }
  } finally {
    if (!isDone) await reader.cancel();
  }
}
