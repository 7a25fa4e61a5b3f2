import type { Clock } from '@tidemark/core';

/** The time of day, which an operator or NTP may set at any moment. What is stored is dated by it. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/**
 * Measures durations within this process: it goes on steadily however the system's clock is set. Its moments must not be
 * stored or told to other processes.
 */
export const steadyClock: Clock = { nowMs: () => performance.timeOrigin + performance.now() };
