import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { MEMORY_SHARE_MAX } from '../limits.ts';

/**
 * Returns the memory a process may use: the configured bound, or its share of the memory of the machine or container.
 */
export function rssBytesMaxOf(setBytes: number, processes: number, thereIsBytes = memoryBytes()): number {
  return setBytes > 0 ? setBytes : Math.floor((thereIsBytes * MEMORY_SHARE_MAX) / processes);
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
