/** Everything a device learns from the world around it. Tests bring a world of their own. */
export interface Platform {
  /** Milliseconds since the epoch of Unix. */
  nowMs(): number;
  /** Strong random bytes: ids of objects and uploads are made of them. */
  randomBytes(count: number): Uint8Array;
  /** Calls back once, after the delay; the answer takes the call back. */
  after(delayMs: number, callback: () => void): () => void;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** What the platform believes about the network; a hint, since it is often wrong. Null: it does not say. */
  readonly network: NetworkHints | null;
}

export interface NetworkHints {
  isOnline(): boolean;
  /** Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}
