/** Who sends the bytes of a file. */
export type FileSender = { readonly kind: 'backend' } | { readonly kind: 'user'; readonly login: string };

/** A file whose bytes arrive. */
export interface FileArrival {
  readonly sha256: string;
  readonly size: number;
  readonly by: FileSender;
}

/** What the core knows about files: which objects refer to them, who may read them, and how much each user keeps. */
export interface FileRights {
  /** Called before an upload begins. `present`: nothing has to be sent. */
  begin(arrival: FileArrival): Promise<'present' | 'needed'>;
  /** Called before the bytes become a file; keeps the collector off it. */
  arriving(arrival: FileArrival): Promise<void>;
  /** Called when the file is durable, before the sender is told so. */
  stored(arrival: FileArrival): Promise<void>;
  /** Null: the user may not read the file, or it is unknown. */
  mayRead(user: string, sha256: string): Promise<object | null>;
}
