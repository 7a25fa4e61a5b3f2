import type { PingTarget } from '@tidemark/core';

/** A device for tests in which it does not matter. */
export const PING_TARGET: PingTarget = {
  client: 'c',
  deviceType: 'ios',
  pushType: 'apns',
  devicePin: 'x',
  devicePort: null,
  appId: null,
};
