import type { Notifier, PingMessage, PingOutcome } from '@tidemark/core';
import type { SyncEvents } from '@tidemark/protocol';
import type { LiveDevices } from '../../events/event-hub.ts';
import { refused } from './notifier.ts';

/** Sends pings on the event streams of devices. A device without a stream pulls anyway when it comes back. */
export function liveNotifier(devices: LiveDevices): Notifier {
  return {
    async notify({ client }, ping): Promise<PingOutcome> {
      return (await devices.ping(client, livePing(ping))) ? { status: 'sent' } : refused('the device is not connected');
    },
  };
}

/** Prefers the event stream, so that a connected device does not get the ping twice. */
export function liveFirst(devices: LiveDevices, otherwise: Notifier): Notifier {
  return {
    notify(target, ping): Promise<PingOutcome> {
      const isSent = devices.ping(target.client, livePing(ping));
      // Usually no other server has to be asked, and the result is there at once.
      return isSent === false
        ? otherwise.notify(target, ping)
        : unlessSent(isSent, () => otherwise.notify(target, ping));
    },
  };
}

async function unlessSent(
  isSent: boolean | Promise<boolean>,
  otherwise: () => Promise<PingOutcome>,
): Promise<PingOutcome> {
  return (await isSent) ? { status: 'sent' } : otherwise();
}

function livePing({ id, sources, message, badge, sound, vibrateS }: PingMessage): SyncEvents['ping'] {
  return {
    ping_id: id,
    sources,
    ...(message === undefined ? {} : { message }),
    ...(badge === undefined ? {} : { badge }),
    ...(sound === undefined ? {} : { sound }),
    ...(vibrateS === undefined ? {} : { vibrate: vibrateS }),
  };
}
