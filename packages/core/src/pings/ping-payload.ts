import { parseJson } from '@tidemark/protocol';
import type { PingContent } from './admit-ping.ts';

/**
 * The payload of the job for one device. The address is looked up when the job runs, so that queues hold no secrets and
 * a device that has registered again is reached at its new address.
 */
export interface PingPayload {
  /** The id of this ping to this device. */
  readonly id: string;
  /** The id of the ping as a whole. */
  readonly ping: string;
  readonly client: string;
  /** The owner and creation time of the device, which detect that its id was registered again. */
  readonly user: string;
  readonly createdAtMs: number;
  /** When the ping was sent, by the steady clock of the process `by`. */
  readonly atMs: number;
  readonly by: string;
  readonly content: PingContent;
}

/** Returns the payloads for many devices. The shared content is serialised once. */
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
