import cluster, { type Worker } from 'node:cluster';
import type { Log } from '@tidemark/core';
import type { Timers } from '../../jobs/timers.ts';
import { steadyClock as clock } from '../../primitives/system-ports.ts';
import { Supervisor, type WorkerProcess } from './supervisor.ts';
import type { FromWorker, WorkerReady } from './worker-message.ts';

export interface WorkersParts {
  readonly count: number;
  /** The file that each worker runs. */
  readonly main: string;
  /** Its arguments. */
  readonly args: readonly string[];
  readonly shutdownGraceMs: number;
  readonly shutdownDrainMs: number;
  readonly log: Log;
  readonly onReady: (ready: WorkerReady) => void;
}

/** These timers keep the process alive, because nothing else does while all workers are down. */
const timers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
/** Added to the grace periods for requests and for jobs. */
const STOP_MS = 5_000;

/** Runs workers that share one port, until a signal ends them or they crash too often. */
export async function runWorkers(parts: WorkersParts): Promise<void> {
  const { count, main, args, shutdownGraceMs, shutdownDrainMs, log, onReady } = parts;
  cluster.setupPrimary({ exec: main, args: [...args] });
  const stopMsMax = shutdownDrainMs + 2 * shutdownGraceMs + STOP_MS;
  const fork = () => processOf(cluster.fork());
  const supervisor = new Supervisor({ count, fork, clock, timers, log, stopMsMax });
  // Each worker reads the configuration itself.
  process.on('SIGHUP', () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGHUP');
  });
  const signalled = untilSignal(log);
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

/** A terminal and npm may both deliver the same Ctrl-C; the second is ignored. */
function untilSignal(log: Log): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (!isStopping) log.info('server_stopping', { signal });
      isStopping = true;
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  });
}
