import type { Clock, Log, Tidemark } from '@tidemark/core';
import type { Config } from '../config/config.ts';
import { EventHub } from './event-hub.ts';

export interface EventsParts {
  readonly tidemark: Tidemark;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a device starts to listen here, with the time. */
  readonly onListen: (client: string, atMs: number) => void;
}

/** Opens the event streams of devices. */
export function openEvents(
  { heartbeatS, streamsMax, streamsPerUserMax }: Config['devices'],
  { tidemark: { tokens, clients, devices }, ...parts }: EventsParts,
): EventHub {
  return new EventHub({
    ...{ ...parts, bearers: tokens.bearers, clients, heartbeatMs: heartbeatS * 1_000, streamsMax, streamsPerUserMax },
    readLivePage: (partition, range) => devices.livePage(partition, range),
  });
}
