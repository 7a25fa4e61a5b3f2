import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { MEMORY_SHARE_MAX } from '../limits.ts';

/** The memory a process may use: what the operator has set, or its share of what the machine or its container has. */
export function rssBytesMaxOf(setBytes: number, processes: number, thereIsBytes = memoryBytes()): number {
  return setBytes > 0 ? setBytes : Math.floor((thereIsBytes * MEMORY_SHARE_MAX) / processes);
}

/** Node.js asks the control groups, of either version. Without a limit it answers 0 or more than there is. */
export function memoryBytes(constrainedBytes = process.constrainedMemory?.() ?? 0, machineBytes = totalmem()): number {
  return constrainedBytes > 0 ? Math.min(constrainedBytes, machineBytes) : machineBytes;
}

/**
 * The memory that nobody can take back from the process. Pages of the embedded store's file are resident as well, but
 * the system drops them when it needs room, so they do not count. Only Linux tells the two apart.
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
