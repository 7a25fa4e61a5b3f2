import { setTimeout } from 'node:timers/promises';
import { startServerProcess } from '@tidemark/testing/kit';
import { median } from '../measure.ts';
import { cpuMsOf, memoryBytesOf } from '../peers/peer-process.ts';
import type { Row } from '../row.ts';

const ROUNDS = 3;
/** The engine gives back the memory that starting took after about ten seconds without work. */
const REST_MS = 15_000;
/** Half of what a start took before anything was done about it, measured on the same machine. */
const START_MS_MAX = 1_150;
const MEMORY_BYTES_MAX = 110e6;

/** CPU of `tidemark serve` with a new data folder until its first answer, and its memory after that. */
export async function start(): Promise<readonly Row[]> {
  const cpuMs: number[] = [];
  const memoryBytes: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServerProcess();
    const response = await fetch(`${server.url}/healthz`);
    if (response.status !== 200) throw new Error(await response.text());
    cpuMs.push(cpuMsOf(server.pid));
    await setTimeout(REST_MS);
    memoryBytes.push(memoryBytesOf(server.pid));
    await server.stop();
  }
  const [startMs, atRestBytes] = [median(cpuMs), median(memoryBytes)];
  return [
    {
      name: 'start of a server until its first answer, CPU',
      measured: `${startMs.toFixed(0)} ms`,
      against: `${START_MS_MAX} ms allowed`,
      ratio: startMs / START_MS_MAX,
      bound: { atMost: 1 },
    },
    {
      name: 'memory of a server at rest',
      measured: `${(atRestBytes / 1e6).toFixed(0)} MB`,
      against: `${MEMORY_BYTES_MAX / 1e6} MB allowed`,
      ratio: atRestBytes / MEMORY_BYTES_MAX,
      bound: { atMost: 1 },
    },
  ];
}
