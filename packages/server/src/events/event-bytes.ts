import type { SyncEvents } from '@tidemark/protocol';

/** A comment line, which shows the device, the server and all proxies that the connection is alive. */
export const HEARTBEAT = Buffer.from(':\n\n');

/** Returns an event in the format of the wire. JSON has no line breaks, so the data is always one line. */
export function eventBytes<Name extends keyof SyncEvents>(name: Name, data: SyncEvents[Name]): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
