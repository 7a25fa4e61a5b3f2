import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { EVENT_LOOP_SAMPLE_MS, LOAD_SAMPLE_MS } from '../limits.ts';
import { ownResidentBytes, rssBytesMaxOf } from './memory-bound.ts';

/**
 * Tells when the server has so much to do that taking on more would only make everybody wait longer.
 *
 * A room of our own rather than `@fastify/under-pressure`: that one measures the same things the same way, but refuses
 * from a plugin of its own, before our hooks and in its own shape, and knows no routes that must always be answered.
 */
export interface LoadGauge {
  /** Why no more should be taken on, in words for whoever is turned away; null: all is well. */
  readonly overload: string | null;
  stop(): void;
}

export interface LoadBounds {
  /** How late the event loop may be on average. One long pause is no overload; being late all the time is. */
  readonly eventLoopDelayMsMax: number;
  /** How much of the heap that Node.js may use is in use. */
  readonly heapPercentMax: number;
  /** Resident memory of the process, without pages of files; 0: a share of what there is. */
  readonly rssBytesMax: number;
}

export interface Load {
  readonly eventLoopDelayMs: number;
  readonly heapPercent: number;
  readonly rssBytes: number;
}

/** Measures since it was last asked. */
export interface LoadMeter {
  read(): Load;
  stop(): void;
}

export interface GaugeOptions {
  readonly meter?: LoadMeter;
  readonly everyMs?: number;
  /** Processes that share the memory there is. */
  readonly processes?: number;
}

export function startLoadGauge(bounds: LoadBounds, options: GaugeOptions = {}): LoadGauge {
  const { meter = processMeter(), everyMs = LOAD_SAMPLE_MS, processes = 1 } = options;
  let overload: string | null = null;
  let lastDelayMs = 0;
  const timer = setInterval(() => {
    const load = meter.read();
    // A single long pause can fill one sample, but not two.
    const rssBytesMax = rssBytesMaxOf(bounds.rssBytesMax, processes);
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
  if (load.eventLoopDelayMs > bounds.eventLoopDelayMsMax) return 'the server has more to do than it can keep up with';
  if (load.heapPercent > bounds.heapPercentMax) return 'the server is running out of memory';
  if (load.rssBytes > bounds.rssBytesMax) return 'the server uses all the memory it may use';
  return null;
}

const NS_PER_MS = 1e6;

function processMeter(): LoadMeter {
  const delays = monitorEventLoopDelay({ resolution: EVENT_LOOP_SAMPLE_MS });
  delays.enable();
  return {
    read() {
      // What is recorded is the time between two looks, of which the resolution is no delay. NaN: no look yet.
      const meanMs = delays.mean / NS_PER_MS - EVENT_LOOP_SAMPLE_MS;
      delays.reset();
      const { heapUsed, rss } = process.memoryUsage();
      const heapPercent = (heapUsed / getHeapStatistics().heap_size_limit) * 100;
      return { eventLoopDelayMs: Number.isNaN(meanMs) ? 0 : meanMs, heapPercent, rssBytes: ownResidentBytes(rss) };
    },
    stop: () => delays.disable(),
  };
}
