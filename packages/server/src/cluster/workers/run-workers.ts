import cluster, { type Worker } from 'node:cluster';
import type { Log } from '@tidemark/core';
import type { Timers } from '../../jobs/timers.ts';
import { steadyClock as clock } from '../../primitives/clocks.ts';
import { Supervisor, type WorkerProcess } from './supervisor.ts';
import type { FromWorker, WorkerReady } from './worker-message.ts';

export interface WorkersParts {
  readonly count: number;
  /** The file that each of them runs. */
  readonly main: string;
  /** Its arguments. */
  readonly args: readonly string[];
  readonly shutdownGraceMs: number;
  readonly shutdownDrainMs: number;
  readonly log: Log;
  readonly onReady: (ready: WorkerReady) => void;
}

/** They keep the process alive: while all workers are down, nothing else does. */
const timers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
/** Beside the grace for requests, and the one for jobs. */
const STOP_MS = 5_000;

/** Runs workers that share one port, until a signal ends them or they do not stay. */
export async function runWorkers(parts: WorkersParts): Promise<void> {
  const { count, main, args, shutdownGraceMs, shutdownDrainMs, log, onReady } = parts;
  cluster.setupPrimary({ exec: main, args: [...args] });
  const stopMsMax = shutdownDrainMs + 2 * shutdownGraceMs + STOP_MS;
  const fork = () => processOf(cluster.fork());
  const supervisor = new Supervisor({ count, fork, clock, timers, log, stopMsMax });
  // Each worker reads its configuration for itself.
  process.on('SIGHUP', () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGHUP');
  });
  const signalled = untilSignal();
  try {
    await Promise.race([supervisor.start().then(onReady), signalled]);
    await Promise.race([signalled, supervisor.failed]);
  } finally {
    await supervisor.stop();
  }
}

function processOf(worker: Worker): WorkerProcess {
  return {
    id: worker.id,
    send: (message) => {
      if (worker.isConnected()) worker.send(message, () => undefined);
    },
    kill: (signal) => void worker.process.kill(signal),
    onMessage: (listener) => void worker.on('message', (message: FromWorker) => listener(message)),
    onExit: (listener) => void worker.once('exit', (code, signal) => listener(code, signal)),
  };
}

/** A terminal and npm may both deliver the same Ctrl-C; the second changes nothing. */
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
}
