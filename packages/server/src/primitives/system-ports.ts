import { randomBytes } from 'node:crypto';
import type { Clock, Pace, Random } from '@tidemark/core';

/** The time of day, which an operator or NTP may change at any moment. Stored times use it. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/**
 * Measures durations within this process, independent of the system clock. Its values must not be stored or sent to
 * other processes.
 */
export const steadyClock: Clock = { nowMs: () => performance.timeOrigin + performance.now() };

export const random: Random = { bytes: (count) => randomBytes(count) };

/** Yields to other work of the event loop. */
export const pace: Pace = { turn: () => new Promise<void>((resolve) => setImmediate(resolve)) };

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
