import { parseJson } from '@tidemark/protocol';
import type { PingContent } from './admit-ping.ts';

/**
 * What a job for one device carries: whom it is for and what to say. The address is looked up when the job runs, so
 * that no secret lies in a queue, and a device that has registered anew is reached at its new one.
 */
export interface PingPayload {
  /** Of this ping to this device. */
  readonly id: string;
  /** Of the ping as a whole. */
  readonly ping: string;
  readonly client: string;
  /** Whose device it was, and since when: another user's device may have the same id by then. */
  readonly user: string;
  readonly createdAtMs: number;
  /** When the ping was sent, by the steady clock of the process that calls itself so. */
  readonly atMs: number;
  readonly by: string;
  readonly content: PingContent;
}

/** The payloads for many devices, written without writing the same content again and again. */
export function pingPayloads(
  content: PingContent,
  devices: readonly Omit<PingPayload, 'content'>[],
): readonly string[] {
  const contentText = JSON.stringify(content);
  return devices.map((device) => `${JSON.stringify(device).slice(0, -1)},"content":${contentText}}`);
}

export function readPingPayload(text: string): PingPayload {
  return parseJson(text) as PingPayload;
}
