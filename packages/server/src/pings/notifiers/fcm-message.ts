import type { PingMessage, PingTarget } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import { collapseKey } from './collapse-key.ts';
import { type FittedMessage, fitMessage } from './fit-message.ts';

/** FCM's limit for notification and data together. */
export const FCM_PAYLOAD_BYTES_MAX = 4_096;
/** FCM's longest time to live: four weeks. */
const TTL_S_MAX = 2_419_200;

const APPLE: ReadonlySet<string> = new Set(['apple', 'ios', 'iphone']);

/**
 * `notification` is shown by the system, `data` is for the app and contains only texts, as FCM requires. Returns null
 * if the message is too large.
 */
export function fcmMessage(target: PingTarget, ping: PingMessage, ttlS: number): FittedMessage | null {
  const data = dataOf(ping);
  const fitted = fitMessage(ping.message, FCM_PAYLOAD_BYTES_MAX, (body) =>
    JSON.stringify(body === undefined ? { data } : { notification: { body }, data }),
  );
  if (fitted === null) return null;
  const content = parseJson(fitted.body) as object;
  const service = APPLE.has(target.deviceType) ? { apns: apnsOf(ping) } : { android: androidOf(ping, ttlS) };
  const body = JSON.stringify({ message: { token: target.devicePin, ...content, ...service } });
  return { ...fitted, body };
}

function dataOf({ id, sources, badge, sound, vibrateS }: PingMessage): Readonly<Record<string, string>> {
  return {
    ping_id: id,
    do_sync: JSON.stringify(sources),
    ...(badge === undefined ? {} : { badge: String(badge) }),
    ...(sound === undefined ? {} : { sound }),
    ...(vibrateS === undefined ? {} : { vibrate: String(vibrateS) }),
  };
}

function androidOf(ping: PingMessage, ttlS: number): object {
  const { message, badge, sound, vibrateS } = ping;
  const notification = {
    ...(sound === undefined ? {} : { sound }),
    ...(typeof badge === 'number' && badge >= 0 ? { notification_count: badge } : {}),
    // The first time is the delay, the second the vibration.
    ...(vibrateS === undefined ? {} : { vibrate_timings: ['0s', `${vibrateS}s`] }),
  };
  return {
    priority: message === undefined ? 'NORMAL' : 'HIGH',
    ttl: `${Math.min(ttlS, TTL_S_MAX)}s`,
    collapse_key: collapseKey(ping),
    ...(message === undefined ? {} : { notification }),
  };
}

/** For Apple devices that an app reaches by FCM. */
function apnsOf(ping: PingMessage): object {
  const { badge, sound } = ping;
  return {
    headers: { 'apns-collapse-id': collapseKey(ping) },
    payload: {
      aps: {
        ...(typeof badge === 'number' && badge >= 0 ? { badge } : {}),
        ...(sound === undefined ? {} : { sound }),
        'content-available': 1,
      },
    },
  };
}
