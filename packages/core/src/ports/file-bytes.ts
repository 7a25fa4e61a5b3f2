/** A file that the engine keeps. */
export interface KeptFile {
  readonly sha256: string;
  readonly size: number;
  readonly storedMs: number;
}

/** An upload that has not become a file. */
export interface KeptUpload {
  readonly id: string;
  /** When the last bytes arrived. */
  readonly changedMs: number;
}

/** What the collector asks of the engine that keeps the bytes of files. */
export interface FileBytes {
  /**
   * Removes a file unless it is wanted. It asks when the file is out of the way already, so that a file which is stored
   * and wanted at the same moment is put back or stored again, but never lost.
   */
  remove(sha256: string, isWanted: () => Promise<boolean>): Promise<void>;
  /** Returns hashes of files whose removal a process did not finish; `remove` finishes it. */
  unfinishedRemovals(): Promise<readonly string[]>;
  list(position: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly KeptFile[]>;
  listUploads(position: {
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly KeptUpload[]>;
  dropUpload(id: string): Promise<void>;
}
