import type { FileProgress, FilesUnderWay } from '../engine/file-work.ts';

/** Shows what is under way with files. */
export class FileBoard {
  readonly #shown = new Map<string, FileProgress>();
  readonly #notify: () => void;

  constructor(notify: () => void) {
    this.#notify = notify;
  }

  get shown(): FilesUnderWay {
    return this.#shown;
  }

  /** `part` is from 0 to 1. */
  show(sha256: string, kind: 'uploading' | 'downloading', part: number): void {
    this.#set(sha256, { kind, part });
  }

  fail(sha256: string, { code, detail }: { readonly code: string; readonly detail: string }): void {
    this.#set(sha256, { kind: 'failed', code, detail });
  }

  end(sha256: string): void {
    if (this.#shown.delete(sha256)) this.#notify();
  }

  clear(): void {
    this.#shown.clear();
    this.#notify();
  }

  #set(sha256: string, progress: FileProgress): void {
    this.#shown.set(sha256, progress);
    this.#notify();
  }
}
