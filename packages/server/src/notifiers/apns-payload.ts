import { type PingMessage, sha256 } from '@tidemark/core';
import { type Fitted, fitMessage } from './fit-message.ts';

/** What Apple takes of a notification that is no call. */
export const APNS_PAYLOAD_BYTES_MAX = 4_096;

/**
 * `aps` is what the system shows or plays; the rest is for the app: which sources to synchronise, how long to vibrate,
 * and the id by which it can tell a repetition. Null: too large.
 */
export function apnsPayload(ping: PingMessage): Fitted | null {
  const { id, sources, message, badge, sound, vibrateS } = ping;
  const number = badgeNumber(badge);
  return fitMessage(message, APNS_PAYLOAD_BYTES_MAX, (body) =>
    JSON.stringify({
      aps: {
        ...(body === undefined ? {} : { alert: { body } }),
        ...(number === null ? {} : { badge: number }),
        ...(sound === undefined ? {} : { sound }),
        // The app is woken to synchronise, with or without something to show.
        'content-available': 1,
      },
      ping_id: id,
      do_sync: sources,
      ...(vibrateS === undefined ? {} : { vibrate: vibrateS }),
      // Apple's badges are numbers; what is none is left to the app.
      ...(badge === undefined || number !== null ? {} : { badge }),
    }),
  );
}

/** Whether somebody will see or hear it. Apple wants to know, and delivers what nobody notices less urgently. */
export function isAlert({ message, badge, sound }: PingMessage): boolean {
  return message !== undefined || sound !== undefined || badgeNumber(badge) !== null;
}

function badgeNumber(badge: number | string | undefined): number | null {
  if (typeof badge === 'number') return badge >= 0 ? badge : null;
  return badge !== undefined && /^[0-9]{1,9}$/.test(badge) ? Number(badge) : null;
}

/** The same UUID at every attempt. */
export function apnsId(id: string): string {
  const hex = sha256(id, 'hex');
  const [a, b, c, d, e] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20), hex.slice(20, 32)];
  return `${a}-${b}-8${c}-8${d}-${e}`;
}
