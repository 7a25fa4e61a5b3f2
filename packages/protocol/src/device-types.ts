/** How a ping reaches a device: by its platform's push service, by a request, by an open connection, or not at all. */
export const DEVICE_TYPES = ['apple', 'ios', 'iphone', 'android', 'web', 'browser', 'webhook', 'live', 'none'] as const;
export type DeviceType = (typeof DEVICE_TYPES)[number];
