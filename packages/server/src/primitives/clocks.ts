import type { Clock } from '@tidemark/core';

/** The time of day, which an operator or NTP may change at any moment. Stored times use it. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/**
 * Measures durations within this process, independent of the system clock. Its values must not be stored or sent to
 * other processes.
 */
export const steadyClock: Clock = { nowMs: () => performance.timeOrigin + performance.now() };
