import type { MoveProgress } from '@tidemark/core';
import type { Terminal } from '../terminal.ts';

/** Pause between two lines of progress when the output is not a terminal. */
const EVERY_MS = { terminal: 200, log: 2_000 } as const;

/** Shows the progress of a migration: one changing line on a terminal, otherwise a line now and then. */
export class MoveMeter {
  readonly #terminal: Terminal;
  #last: { readonly phase: string; readonly atMs: number } | null = null;
  #isLineOpen = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show({ phase, pieces, units, piecesTotal }: MoveProgress): void {
    const atMs = performance.now();
    const everyMs = this.#terminal.isInteractive ? EVERY_MS.terminal : EVERY_MS.log;
    if (this.#last?.phase === phase && atMs - this.#last.atMs < everyMs) return;
    this.#last = { phase, atMs };
    const share = piecesTotal === null || piecesTotal === 0 ? '' : `, ${Math.floor((100 * pieces) / piecesTotal)} %`;
    this.#tell(`${phase}: ${pieces} pieces, ${(units / 1e6).toFixed(1)} million characters${share}`);
  }

  end(): void {
    if (this.#isLineOpen) this.#terminal.err('\n');
    this.#isLineOpen = false;
  }

  #tell(line: string): void {
    if (!this.#terminal.isInteractive) {
      this.#terminal.say(line);
      return;
    }
    this.#terminal.err(`\r${line}\u001b[K`);
    this.#isLineOpen = true;
  }
}
