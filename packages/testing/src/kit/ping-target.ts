import type { PingTarget } from '@tidemark/core';

/** A device for tests that do not care which. */
export const PING_TARGET: PingTarget = {
  client: 'c',
  deviceType: 'ios',
  pushType: 'apns',
  devicePin: 'x',
  devicePort: null,
  appId: null,
};
