import { parseJson } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import { STREAM_SILENCE_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import type { PageAsked } from '../pull/apply-page.ts';
import type { Replica } from '../replica/replica.ts';
import { linesOf } from '../transport/lines.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { timeLimit } from '../transport/wire.ts';

interface SnapshotReaderParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly caller: SessionCaller;
}

type SnapshotAsked = Pick<PageAsked, 'source' | 'token'>;

/** Returns true if the reader should stop: at the end of the stream, or because something else is to be done first. */
type TakeLine = (line: string) => Promise<boolean>;

/** Statuses of a server that has no snapshot of the source, which is pulled instead. */
const NO_SNAPSHOT_STATUSES: ReadonlySet<number | null> = new Set([404, 405, 406, 501]);

/** Reads snapshot streams, and knows which sources are read that way. */
export class SnapshotReader {
  readonly #platform: Platform;
  readonly #replica: Replica;
  readonly #caller: SessionCaller;
  /** Sources that continue as a snapshot stream. */
  readonly #streamed = new Set<string>();
  /** Sources that the server refused to stream. */
  readonly #refused = new Set<string>();

  constructor({ platform, replica, caller }: SnapshotReaderParts) {
    this.#platform = platform;
    this.#replica = replica;
    this.#caller = caller;
  }

  /** True if the source is read as a stream and not pulled. */
  reads(source: string): boolean {
    return !this.#refused.has(source) && (this.#isBulkOnly(source) || this.#streamed.has(source));
  }

  /** Makes the source continue as a stream. Returns false if the server has refused that. */
  choose(source: string): boolean {
    if (this.#refused.has(source)) return false;
    this.#streamed.add(source);
    return true;
  }

  /** To be called when a source is complete. */
  end(source: string): void {
    this.#streamed.delete(source);
  }

  clear(): void {
    this.#streamed.clear();
    this.#refused.clear();
  }

  /** Each line is a page. A broken stream continues where it stopped. Returns false if the server refuses to stream. */
  async read(asked: SnapshotAsked, signal: AbortSignal, takeLine: TakeLine): Promise<boolean> {
    const { source } = asked;
    const silence = timeLimit(this.#platform, signal, STREAM_SILENCE_MS_MAX);
    let lines = 0;
    try {
      const response = await this.#caller.open({
        path: snapshotPath(asked),
        accept: 'application/x-ndjson',
        signal: silence.signal,
      });
      for await (const line of linesOf(response, () => silence.restart(), silence.signal)) {
        if (line === '') continue;
        lines++;
        if (await takeLine(line)) break;
      }
    } catch (error) {
      if (!this.#isRefusal(source, error)) throw error;
      return false;
    } finally {
      silence.end();
    }
    if (lines === 0) throw clientError('bad_answer', `the snapshot of ${JSON.stringify(source)} is empty`);
    return true;
  }

  #isRefusal(source: string, error: unknown): boolean {
    const isRefused = error instanceof ClientError && NO_SNAPSHOT_STATUSES.has(error.status);
    if (this.#isBulkOnly(source) || !isRefused) return false;
    this.#refused.add(source);
    this.#streamed.delete(source);
    return true;
  }

  #isBulkOnly(source: string): boolean {
    return this.#replica.reader.get('sources', ['', source])?.description.sync_type === 'bulk_only';
  }
}

export function parsedLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch (error) {
    throw clientError('bad_answer', 'a line of the snapshot is not JSON', error);
  }
}

function snapshotPath({ source, token }: SnapshotAsked): string {
  const query = token === null ? '' : `?token=${encodeURIComponent(token)}`;
  return `/sources/${encodeURIComponent(source)}/snapshot${query}`;
}
