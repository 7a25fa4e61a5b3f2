import type { DeviceTidemark } from './store.ts';

/**
 * The seq up to which a device surely holds every change: the head at its last complete catch-up. In the middle of a
 * catch-up its seq is higher, but objects below that seq may have moved ahead of it in the journal. A device that starts
 * over has acknowledged nothing.
 */
export function acknowledgedSeq({ base }: Pick<DeviceTidemark, 'base'>): number {
  return base ?? 0;
}
