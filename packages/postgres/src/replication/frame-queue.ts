import type { Frame } from './frame.ts';

/** Frames in the order of their arrival, with the number of their bytes. */
export class FrameQueue {
  #frames: Entry[] = [];
  #taken = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(frame: Frame, bytes: number): void {
    this.#frames.push({ frame, bytes });
    this.#bytes += bytes;
  }

  take(): Frame | null {
    const entry = this.#frames[this.#taken];
    if (entry === undefined) return null;
    this.#taken += 1;
    this.#bytes -= entry.bytes;
    // Array.shift would move all others each time.
    if (this.#taken * 2 >= this.#frames.length) {
      this.#frames = this.#frames.slice(this.#taken);
      this.#taken = 0;
    }
    return entry.frame;
  }

  clear(): void {
    this.#frames = [];
    this.#taken = 0;
    this.#bytes = 0;
  }
}

interface Entry {
  readonly frame: Frame;
  readonly bytes: number;
}
