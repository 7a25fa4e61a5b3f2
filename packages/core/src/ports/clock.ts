/** The only way to learn what time it is. */
export interface Clock {
  /** Milliseconds since the epoch of Unix. */
  nowMs(): number;
}
