import type { PingMessage } from '@tidemark/core';
import { utf8Bytes } from '@tidemark/protocol';
import { type FittedMessage, fitMessage } from './fit-message.ts';

/** Apple's limit for a notification. */
export const APNS_PAYLOAD_BYTES_MAX = 4_096;

/**
 * Writes payloads. A ping to ten thousand devices differs only in its id, so the rest of the last payload is cached
 * and joined with the next id.
 */
export class ApnsPayloads {
  #last: { readonly ping: PingMessage; readonly rest: string; readonly restBytes: number } | null = null;

  /** Returns null if the payload is too large. */
  of(ping: PingMessage): FittedMessage | null {
    if (this.#last === null || !isSameContent(this.#last.ping, ping)) {
      const rest = restOf(ping, ping.message);
      this.#last = { ping, rest, restBytes: utf8Bytes(rest) };
    }
    const { rest, restBytes } = this.#last;
    const head = headOf(ping);
    if (utf8Bytes(head) + restBytes <= APNS_PAYLOAD_BYTES_MAX) return { body: head + rest };
    return fitMessage(ping.message, APNS_PAYLOAD_BYTES_MAX, (message) => head + restOf(ping, message));
  }
}

function isSameContent(one: PingMessage, other: PingMessage): boolean {
  return (
    one.message === other.message &&
    one.badge === other.badge &&
    one.sound === other.sound &&
    one.vibrateS === other.vibrateS &&
    one.sources.length === other.sources.length &&
    one.sources.every((source, index) => source === other.sources[index])
  );
}

/** The id lets the app recognise a repetition. */
function headOf({ id }: PingMessage): string {
  return `{"ping_id":${JSON.stringify(id)},`;
}

/** `aps` is for the system; the rest tells the app which sources to synchronise and how long to vibrate. */
function restOf({ sources, badge, sound, vibrateS }: PingMessage, message: string | undefined): string {
  const number = badgeNumber(badge);
  const rest = {
    aps: {
      ...(message === undefined ? {} : { alert: { body: message } }),
      ...(number === null ? {} : { badge: number }),
      ...(sound === undefined ? {} : { sound }),
      // Wakes the app to synchronise, with or without something to show.
      'content-available': 1,
    },
    do_sync: sources,
    ...(vibrateS === undefined ? {} : { vibrate: vibrateS }),
    // Badges of Apple are numbers; other values are passed to the app.
    ...(badge === undefined || number !== null ? {} : { badge }),
  };
  return JSON.stringify(rest).slice(1);
}

/** True if the user will notice the ping. Apple delivers other pings with lower priority. */
export function isAlert({ message, badge, sound }: PingMessage): boolean {
  return message !== undefined || sound !== undefined || badgeNumber(badge) !== null;
}

function badgeNumber(badge: number | string | undefined): number | null {
  if (typeof badge === 'number') return badge >= 0 ? badge : null;
  return badge !== undefined && /^[0-9]{1,9}$/.test(badge) ? Number(badge) : null;
}

/** Returns the same UUID at every attempt. `digest` is the SHA-256 of the ping id in hexadecimal. */
export function apnsId(digest: string): string {
  const [a, b, c] = [digest.slice(0, 8), digest.slice(8, 12), digest.slice(13, 16)];
  return `${a}-${b}-8${c}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
