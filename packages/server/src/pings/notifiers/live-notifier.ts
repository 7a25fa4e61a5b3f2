import type { Notifier, PingMessage, PingOutcome } from '@tidemark/core';
import type { SyncEvents } from '@tidemark/protocol';
import type { LiveDevices } from '../../events/event-hub.ts';
import { refused } from './outcomes.ts';

/** Reaches devices on their open connection. Who is not there will ask for changes anyway when coming back. */
export function liveNotifier(devices: LiveDevices): Notifier {
  return {
    async notify({ client }, ping): Promise<PingOutcome> {
      return (await devices.ping(client, livePing(ping))) ? { status: 'sent' } : refused('the device is not connected');
    },
  };
}

/** Whoever is connected gets the ping there and nowhere else, so that nobody gets it twice. */
export function liveFirst(devices: LiveDevices, otherwise: Notifier): Notifier {
  return {
    notify(target, ping): Promise<PingOutcome> {
      const isSent = devices.ping(target.client, livePing(ping));
      // Mostly nobody has to be asked, and then nothing is waited for.
      return isSent === false
        ? otherwise.notify(target, ping)
        : sentOrElse(isSent, () => otherwise.notify(target, ping));
    },
  };
}

async function sentOrElse(
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
