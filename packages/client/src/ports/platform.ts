/** The environment of a device. Tests replace it. */
export interface Platform {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Cryptographically strong random bytes, for ids of objects and uploads. */
  randomBytes(count: number): Uint8Array;
  /** Calls back once after the delay. Returns the function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** The network state as the platform reports it; a hint, since it is often wrong. Null: unknown. */
  readonly network: NetworkHints | null;
}

export interface NetworkHints {
  isOnline(): boolean;
  /** Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}
