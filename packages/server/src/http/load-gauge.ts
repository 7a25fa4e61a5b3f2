import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { LoadBounds } from '../config/config.ts';
import { EVENT_LOOP_SAMPLE_MS, LOAD_SAMPLE_MS, MEMORY_SHARE_MAX } from '../limits.ts';

/**
 * Reports when the server is overloaded, so that more work would only make everybody wait longer.
 *
 * Not `@fastify/under-pressure`: it measures the same in the same way, but refuses from its own plugin, before our
 * hooks and in its own form, and cannot exempt routes.
 */
export interface LoadGauge {
  /** Why requests are refused, as text for the caller. Null: the server is not overloaded. */
  readonly overload: string | null;
  stop(): void;
}

export interface Load {
  readonly eventLoopDelayMs: number;
  readonly heapPercent: number;
  readonly rssBytes: number;
}

/** Measures the load since the last read. */
interface LoadMeter {
  read(): Load;
  stop(): void;
}

interface GaugeOptions {
  readonly meter?: LoadMeter;
  readonly everyMs?: number;
  /** The number of processes that share the memory. */
  readonly processes?: number;
}

export function startLoadGauge(bounds: LoadBounds, options: GaugeOptions = {}): LoadGauge {
  const { meter = processMeter(), everyMs = LOAD_SAMPLE_MS, processes = 1 } = options;
  let overload: string | null = null;
  let lastDelayMs = 0;
  const rssBytesMax = rssBytesMaxOf(bounds.rssBytesMax, processes);
  const timer = setInterval(() => {
    const load = meter.read();
    // The smaller of two samples counts: a single long pause fills one sample, but not two.
    const steady = { ...load, eventLoopDelayMs: Math.min(load.eventLoopDelayMs, lastDelayMs) };
    overload = overloadOf(steady, { ...bounds, rssBytesMax });
    lastDelayMs = load.eventLoopDelayMs;
  }, everyMs);
  timer.unref();
  return {
    get overload() {
      return overload;
    },
    stop() {
      clearInterval(timer);
      meter.stop();
    },
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
  delays.enable();
  return {
    read() {
      // The histogram holds the time between two samples, so the resolution is subtracted. NaN: no sample yet.
      const meanMs = delays.mean / NS_PER_MS - EVENT_LOOP_SAMPLE_MS;
      delays.reset();
      const { heapUsed, rss } = process.memoryUsage();
      const heapPercent = (heapUsed / getHeapStatistics().heap_size_limit) * 100;
      return { eventLoopDelayMs: Number.isNaN(meanMs) ? 0 : meanMs, heapPercent, rssBytes: ownResidentBytes(rss) };
    },
    stop: () => delays.disable(),
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
