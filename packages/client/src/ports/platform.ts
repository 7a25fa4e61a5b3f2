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
  /** What tabs of one origin need to share a device. Null: the platform has no tabs. */
  readonly tabs: TabFeatures | null;
}

export interface TabFeatures {
  /** Opens a channel to the other tabs of this origin. Messages of one sender arrive in their order. */
  openChannel(name: string, onMessage: (message: unknown) => void): TabChannel;
  /** Null: the platform has no Web Locks. */
  readonly requestLock: RequestLock | null;
}

export interface TabChannel {
  post(message: unknown): void;
  close(): void;
}

/** Requests a lock that one tab at a time holds. With `isStolen` it is taken from its holder. Returns the release function. */
export type RequestLock = (
  name: string,
  hooks: { readonly onHeld: () => void; readonly onLost: () => void },
  isStolen: boolean,
) => () => void;

export interface NetworkHints {
  /** The origin of the page whose scripts run. Undefined: the platform has no pages, and asks servers for no permission. */
  readonly pageOrigin?: string | undefined;
  isOnline(): boolean;
  /** Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}
