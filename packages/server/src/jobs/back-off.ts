import type { Random } from '@tidemark/core';

export interface BackOff {
  /** The longest wait after the first attempt; it doubles with every further one. */
  readonly baseMs: number;
  /** The longest wait of all. */
  readonly capMs: number;
}

/**
 * How long to wait after so many attempts: anything from nothing to a ceiling that doubles, as the dice fall. Those
 * that failed together, because something they all need was down, do not come back together.
 */
export function backOffMs(attempt: number, { baseMs, capMs }: BackOff, dice: () => number): number {
  const ceilingMs = Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.floor(dice() * (ceilingMs + 1));
}

const DICE_BYTES = 4;

/** Dice that give fractions from 0 up to, not including, 1. */
export function diceOf(random: Random): () => number {
  return () => {
    const bytes = random.bytes(DICE_BYTES);
    return bytes.reduce((sum, byte) => sum * 256 + byte, 0) / 256 ** DICE_BYTES;
  };
}
