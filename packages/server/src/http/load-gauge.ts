import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { LoadBounds } from '../config/config.ts';
import { EVENT_LOOP_SAMPLE_MS, LOAD_REST_MS, LOAD_SAMPLE_MS, MEMORY_SHARE_MAX } from '../limits.ts';

/**
 * Reports when the server is overloaded, so that more work would only make everybody wait longer.
 *
 * Not `@fastify/under-pressure`: it measures the same in the same way, but refuses from its own plugin, before our
 * hooks and in its own form, and cannot exempt routes.
 */
export interface LoadGauge {
  /** Returns why requests are refused, as text for the caller, or null if the server is not overloaded. */
  overload(): string | null;
  stop(): void;
}

export interface Load {
  readonly eventLoopDelayMs: number;
  readonly heapPercent: number;
  readonly rssBytes: number;
}

interface LoadMeter {
  /** Returns the load since the last read, or since now if the meter has been paused. */
  read(): Load;
  pause(): void;
}

interface GaugeOptions {
  readonly meter?: LoadMeter;
  readonly everyMs?: number;
  readonly restAfterMs?: number;
  /** The number of processes that share the memory. */
  readonly processes?: number;
}

/**
 * Measures the load as long as requests come in, and for a while after the last: a balancer that asks now and then whether
 * the server is ready finds the load of the time between. A server that nobody calls is not woken up to be measured.
 */
export function openLoadGauge(bounds: LoadBounds, options: GaugeOptions = {}): LoadGauge {
  const { meter = processMeter(), everyMs = LOAD_SAMPLE_MS, restAfterMs = LOAD_REST_MS, processes = 1 } = options;
  const rssBytesMax = rssBytesMaxOf(bounds.rssBytesMax, processes);
  let overload: string | null = null;
  let lastDelayMs = 0;
  let unaskedMs = 0;
  let timer: NodeJS.Timeout | null = null;
  const measure = () => {
    const load = meter.read();
    // The smaller of two samples counts: a single long pause fills one sample, but not two.
    const steady = { ...load, eventLoopDelayMs: Math.min(load.eventLoopDelayMs, lastDelayMs) };
    overload = overloadOf(steady, { ...bounds, rssBytesMax });
    lastDelayMs = load.eventLoopDelayMs;
  };
  const stop = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
    lastDelayMs = 0;
    meter.pause();
  };
  const tick = () => {
    unaskedMs += everyMs;
    if (unaskedMs > restAfterMs) stop();
    else measure();
  };
  return {
    overload() {
      unaskedMs = 0;
      if (timer === null) {
        measure();
        timer = setInterval(tick, everyMs).unref();
      }
      return overload;
    },
    stop,
  };
}

export function overloadOf(load: Load, bounds: LoadBounds): string | null {
  if (load.eventLoopDelayMs > bounds.eventLoopDelayMsMax) return 'the server is overloaded';
  if (load.heapPercent > bounds.heapPercentMax) return 'the server is running out of memory';
  if (load.rssBytes > bounds.rssBytesMax) return 'the server has reached its memory limit';
  return null;
}

const NS_PER_MS = 1e6;

function processMeter(): LoadMeter {
  const delays = monitorEventLoopDelay({ resolution: EVENT_LOOP_SAMPLE_MS });
  return {
    read() {
      delays.enable();
      // The histogram holds the time between two samples, so the resolution is subtracted. NaN: no sample yet.
      const meanMs = delays.mean / NS_PER_MS - EVENT_LOOP_SAMPLE_MS;
      delays.reset();
      const { heapUsed, rss } = process.memoryUsage();
      const heapPercent = (heapUsed / getHeapStatistics().heap_size_limit) * 100;
      return { eventLoopDelayMs: Number.isNaN(meanMs) ? 0 : meanMs, heapPercent, rssBytes: ownResidentBytes(rss) };
    },
    pause() {
      delays.disable();
      delays.reset();
    },
  };
}

/**
 * Returns the memory a process may use: the configured bound, or its share of the memory of the machine or container.
 */
export function rssBytesMaxOf(configuredBytes: number, processes: number, availableBytes = memoryBytes()): number {
  return configuredBytes > 0 ? configuredBytes : Math.floor((availableBytes * MEMORY_SHARE_MAX) / processes);
}

/** Node.js reads the limit of the control group. Without a limit it returns 0 or more than the machine has. */
export function memoryBytes(constrainedBytes = process.constrainedMemory?.() ?? 0, machineBytes = totalmem()): number {
  return constrainedBytes > 0 ? Math.min(constrainedBytes, machineBytes) : machineBytes;
}

/**
 * Returns the memory that the system cannot reclaim. File pages of the embedded store are resident as well, but the
 * system drops them under pressure, so they do not count. Only Linux tells the two apart.
 */
export function ownResidentBytes(residentBytes: number, readStatus = readOwnStatus): number {
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readStatus()) ?? [];
  return kib === undefined ? residentBytes : Number(kib) * 1_024;
}

function readOwnStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    return '';
  }
}
