/** How a ping reaches a device: by its platform's push service, by a request, by an open connection, or not at all. */
export const DEVICE_TYPES = ['apple', 'ios', 'iphone', 'android', 'web', 'browser', 'webhook', 'live', 'none'] as const;
export type DeviceType = (typeof DEVICE_TYPES)[number];

/** Overrides the push service of the device type, for an iPhone that uses FCM or a build for Apple's sandbox. */
export const PUSH_TYPES = ['apns', 'apns_sandbox', 'fcm', 'webpush', 'webhook', 'live', 'none'] as const;
export type PushType = (typeof PUSH_TYPES)[number];

/** The services that deliver pings. Each has its own queue, rate limit and circuit breaker, so that one that is down does not delay the others. */
export const PUSH_SERVICES = ['apns', 'fcm', 'webpush', 'webhook', 'live'] as const;
export type PushService = (typeof PUSH_SERVICES)[number];

const PUSH_TYPE_OF: Readonly<Record<DeviceType, PushType>> = {
  apple: 'apns',
  ios: 'apns',
  iphone: 'apns',
  android: 'fcm',
  web: 'webpush',
  browser: 'webpush',
  webhook: 'webhook',
  live: 'live',
  none: 'none',
};

/** Returns null when the device has no type. */
export function pushTypeOf(device: {
  readonly device_type: DeviceType | null;
  readonly device_push_type: PushType | null;
}): PushType | null {
  // Older records have no push type.
  if (device.device_push_type != null) return device.device_push_type;
  return device.device_type === null ? null : PUSH_TYPE_OF[device.device_type];
}

export function pushServiceOf(type: Exclude<PushType, 'none'>): PushService {
  return type === 'apns_sandbox' ? 'apns' : type;
}
