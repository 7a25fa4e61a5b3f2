/** Pauses long work so that the event loop can do other work. */
export interface Pace {
  turn(): Promise<void>;
}
