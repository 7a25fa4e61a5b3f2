/** Lets everybody else have a turn before long work goes on. */
export interface Pace {
  turn(): Promise<void>;
}
