import type { Bearer, DeviceId } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { RouteContext } from '../../http/route.ts';

const SHOWN_UNITS_MAX = 80;

/** The device that calls, and its token. */
type ActingDevice = DeviceId & Pick<Bearer, 'tokenId' | 'tokenHash'>;

/** Returns the device that the token was issued for, unless it was deleted or is to be wiped. */
export async function ownDevice(
  { tidemark }: Pick<RouteContext, 'tidemark'>,
  bearer: Bearer | null,
  named?: string,
): Promise<ActingDevice> {
  const device = actingDevice(bearer, named);
  await tidemark.clients.own(device.user, device.client);
  return device;
}

/**
 * Returns the device that the token was issued for. A device can only name itself: other ids are refused as unknown.
 */
export function actingDevice(bearer: Bearer | null, named?: string): ActingDevice {
  if (bearer === null || bearer.client === null) {
    throw new Refusal('forbidden', 'this token was not issued for a device; log in at POST /sync/v1/login');
  }
  if (named !== undefined && named !== bearer.client) {
    const shown = named.length > SHOWN_UNITS_MAX ? `${named.slice(0, SHOWN_UNITS_MAX)}…` : named;
    throw new Refusal('client_not_found', `there is no client ${JSON.stringify(shown.toWellFormed())} of this token`);
  }
  const { user, client, tokenId, tokenHash } = bearer;
  return { user, client, tokenId, tokenHash };
}
