import type { SyncEvents } from '@tidemark/protocol';

/** A comment: it says that somebody is still there, to both sides and to every proxy between them. */
export const HEARTBEAT = Buffer.from(':\n\n');

/** An event as it stands on the wire. JSON has no line breaks, so the data is always one line. */
export function eventBytes<Name extends keyof SyncEvents>(name: Name, data: SyncEvents[Name]): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
