import { type PushType, parseMembers } from '@tidemark/protocol';

/** The push subscription of a browser (`PushSubscription.toJSON()`), with its keys as bytes. */
export interface Subscription {
  readonly endpoint: string;
  /** The browser's public key: a point of P-256, uncompressed. */
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
}

/** Apple promises no length; today's have 64 digits. */
const APNS_TOKEN = /^(?:[0-9A-Fa-f]{2}){8,100}$/;
/** Google promises nothing; what it gives is one word of ASCII. */
const FCM_TOKEN = /^[\x21-\x7e]{1,4096}$/;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;
const POINT_BYTES = 65;
const UNCOMPRESSED = 4;
const AUTH_BYTES = 16;

/** Returns what is wrong with an address for this push type, or null. The address is a secret and not repeated. */
export function addressProblem(type: PushType, pin: string): string | null {
  switch (type) {
    case 'apns':
    case 'apns_sandbox':
      return APNS_TOKEN.test(pin) ? null : 'must be a device token of APNs: 16 to 200 hexadecimal digits';
    case 'fcm':
      return FCM_TOKEN.test(pin) ? null : 'must be a registration token of FCM: printable ASCII without spaces';
    case 'webpush':
      return readSubscription(pin) === null
        ? 'must be the JSON of a push subscription: an https endpoint without login, and the keys p256dh and auth'
        : null;
    case 'webhook':
    case 'live':
    case 'none':
      return null;
  }
}

/** Returns null when the text is not a subscription. */
export function readSubscription(pin: string): Subscription | null {
  const { endpoint, keys } = parseMembers(pin);
  if (typeof endpoint !== 'string' || !isEndpoint(endpoint) || typeof keys !== 'object' || keys === null) return null;
  const { p256dh, auth } = keys as { readonly p256dh?: unknown; readonly auth?: unknown };
  const point = bytesOf(p256dh);
  const secret = bytesOf(auth);
  if (point?.length !== POINT_BYTES || point[0] !== UNCOMPRESSED || secret?.length !== AUTH_BYTES) return null;
  return { endpoint, p256dh: point, auth: secret };
}

function isEndpoint(text: string): boolean {
  if (/[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === '';
}

function bytesOf(text: unknown): Uint8Array | null {
  return typeof text === 'string' && BASE64URL.test(text) ? new Uint8Array(Buffer.from(text, 'base64url')) : null;
}
