/** The environment of a device. Tests replace it. */
export interface Platform {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Cryptographically strong random bytes, for ids of objects and uploads. */
  randomBytes(count: number): Uint8Array;
  /** Calls back once after the delay. Returns the function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Begins a SHA-256 of bytes that come in pieces. Absent or null: Node.js, WebCrypto or the SDK compute it. */
  sha256?(): Sha256Hash | null;
  /** The network state as the platform reports it; a hint, since it is often wrong. Null: unknown. */
  readonly network: NetworkHints | null;
  /** What tabs of one origin need to share a device. Null: the platform has no tabs. */
  readonly tabs: TabFeatures | null;
}

export interface Sha256Hash {
  update(bytes: Uint8Array): void;
  /** Ends the computation. Returns 64 lower-case hexadecimal digits. */
  hex(): string;
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
  /** True if the user pays by the byte. Absent: it is not known. */
  isMetered?(): boolean;
  /** Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}
