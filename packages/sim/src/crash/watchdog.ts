import { Worker } from 'node:worker_threads';

/**
 * Ends this process the hard way when it lives too long, whatever its main thread is stuck in and whether or not
 * anybody still waits for it.
 */
export function startWatchdog(lifeMs: number): void {
  const bark = `setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${lifeMs})`;
  new Worker(bark, { eval: true }).unref();
}
