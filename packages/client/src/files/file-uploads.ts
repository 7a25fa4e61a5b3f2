import type { ClientError } from '../client-error.ts';
import type { FileWorkParts } from '../engine/file-work.ts';
import { transactIn } from '../engine/work-scope.ts';
import {
  FILE_HASH_ATTEMPTS_MAX,
  FILES_LOST_ASKED_EVERY_MS,
  FILES_SENT_AT_ONCE,
  LOST_FILES_ASKED_MAX,
} from '../limits.ts';
import { type FileRow, fileRow, fileRows, putFileRow } from '../state/file-rows.ts';
import type { FileBoard } from './file-board.ts';
import type { FileBodies } from './file-bodies.ts';
import { SendSize } from './send-size.ts';
import { type Attempt, TransferQueue } from './transfer-queue.ts';
import { uploadFile } from './upload-file.ts';

/** Refusals that come again, until the app or somebody else has changed something. */
const FINAL_CODES: ReadonlySet<string> = new Set([
  'file_too_large',
  'quota_exceeded',
  'invalid_value',
  'limit_exceeded',
  'store_damaged',
]);

/** What follows a broken connection: also what the server says of a request that the browser has repeated by itself. */
const BREAKS: ReadonlySet<string> = new Set(['unreachable', 'wrong_offset', 'upload_locked']);

/** Sends files that wait, some at the same time. The stored rows are the queue, so a kill loses nothing of it. */
export class FileUploads {
  readonly #parts: FileWorkParts;
  readonly #bodies: FileBodies;
  readonly #board: FileBoard;
  readonly #queue: TransferQueue;
  /** The most bytes that the server has had of each file: only more of them are an advance. */
  readonly #reached = new Map<string, number>();
  readonly #size = new SendSize();
  /** Called when the server has another file. */
  readonly #onSent: () => void;
  /** When the server is asked again what it has lost. */
  #askAtMs = 0;

  constructor(parts: FileWorkParts, bodies: FileBodies, board: FileBoard, onSent: () => void) {
    this.#parts = parts;
    this.#bodies = bodies;
    this.#board = board;
    this.#onSent = onSent;
    this.#queue = new TransferQueue({
      platform: parts.data.platform,
      atOnce: FILES_SENT_AT_ONCE,
      wanted: () => this.#waiting(),
      mayRun: () => mayUseNetwork(parts),
      transfer: (sha256, attempt) => this.#send(sha256, attempt),
      onFailed: (sha256, error, failures) => this.#takeFailure(sha256, error, failures),
    });
  }

  follow(): void {
    this.#queue.follow();
    const nowMs = this.#parts.data.platform.nowMs();
    if (nowMs < this.#askAtMs || !mayUseNetwork(this.#parts)) return;
    // If it fails, the next time will do.
    this.#resendLost(nowMs).catch(() => undefined);
  }

  stop(): void {
    this.#queue.stop();
  }

  /** Gives up what is under way with a file. */
  drop(sha256: string): void {
    this.#queue.abort(sha256);
    this.#queue.hurry(sha256);
    this.#reached.delete(sha256);
    this.#board.end(sha256);
    // Another one takes its place.
    this.#queue.follow();
  }

  hurry(sha256: string): void {
    this.#queue.hurry(sha256);
  }

  /** Asks the server which files of this device it has lost. They wait to be sent again. */
  async #resendLost(nowMs: number): Promise<void> {
    const { data, network, sessions } = this.#parts;
    const { signal } = new AbortController();
    const userId = sessions.current()?.userId;
    const files = [...fileRows(data.replica.reader)].filter(([, row]) => isSent(row)).map(([sha256]) => sha256);
    if (files.length === 0) return;
    this.#askAtMs = nowMs + FILES_LOST_ASKED_EVERY_MS;
    const { caller } = await network.load();
    // Another user has other files.
    for (let at = 0; at < files.length && sessions.current()?.userId === userId; at += LOST_FILES_ASKED_MAX) {
      const body = { files: files.slice(at, at + LOST_FILES_ASKED_MAX) };
      const read = (answer: unknown) => (answer as typeof body).files;
      const lost = await caller.ask({ method: 'POST', path: '/files/lost', body, read, signal });
      await data.replica.transact((tx) => {
        for (const sha256 of lost) {
          const row = fileRow(tx, sha256);
          if (row !== undefined && isSent(row)) putFileRow(tx, sha256, { ...row, waitsSinceMs: nowMs });
        }
      });
    }
  }

  /** In the order in which they were added. */
  #waiting(): readonly string[] {
    const rows = [...fileRows(this.#parts.data.replica.reader)].filter(([, row]) => isWaiting(row));
    rows.sort(([, left], [, right]) => (left.waitsSinceMs ?? 0) - (right.waitsSinceMs ?? 0));
    return rows.map(([sha256]) => sha256);
  }

  async #send(sha256: string, { signal, onAdvance }: Attempt): Promise<void> {
    const { data, sessions, network } = this.#parts;
    const [row, session] = [fileRow(data.replica.reader, sha256), sessions.current()];
    if (row === undefined || session === null) return;
    signal.addEventListener('abort', () => this.#board.end(sha256));
    const { caller } = await network.load();
    const onOffset = (offset: number) => {
      if (offset > (this.#reached.get(sha256) ?? 0)) {
        this.#reached.set(sha256, offset);
        onAdvance();
      }
      if (!signal.aborted) this.#board.show(sha256, 'uploading', offset / Math.max(1, row.size));
    };
    const read = (at: number) => this.#bodies.read(row, at);
    await uploadFile({ caller, sha256, row, read, size: this.#size, onOffset, signal });
    const scope = { userId: session.userId, clientId: session.clientId, signal };
    await transactIn(data.replica, scope, (tx) => {
      const known = fileRow(tx, sha256);
      // The app may have discarded it meanwhile.
      if (known === undefined) return;
      const { waitsSinceMs: _, error: __, ...rest } = known;
      putFileRow(tx, sha256, { ...rest, usedAtMs: data.platform.nowMs() });
    });
    this.#reached.delete(sha256);
    this.#board.end(sha256);
    this.#onSent();
  }

  async #takeFailure(sha256: string, error: ClientError, failures: number): Promise<boolean> {
    this.#board.end(sha256);
    const { code, detail } = error;
    if (BREAKS.has(code)) this.#size.noteBroken();
    if (code === 'sign_in_required' || code === 'signed_out') this.#parts.onSessionEnded(error);
    const isDamaged = code === 'file_hash_mismatch' && failures >= FILE_HASH_ATTEMPTS_MAX;
    if (!FINAL_CODES.has(code) && !isDamaged) return true;
    await this.#parts.data.replica.transact((tx) => {
      const row = fileRow(tx, sha256);
      if (row !== undefined) putFileRow(tx, sha256, { ...row, error: { code, detail } });
    });
    return false;
  }
}

/** Whether all bytes are here, and the server had them. */
function isSent({ waitsSinceMs, bytes, size }: FileRow): boolean {
  return waitsSinceMs === undefined && bytes === size;
}

function isWaiting(row: FileRow): boolean {
  return row.waitsSinceMs !== undefined && row.error === undefined;
}

/** False while there is no network, or the user pays for it by the byte and the app wants to wait. */
export function mayUseNetwork({ options, data, isConnected }: FileWorkParts): boolean {
  return isConnected() && (options.files.metered !== false || data.platform.network?.isMetered?.() !== true);
}
