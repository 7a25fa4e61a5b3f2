import { JobFailure, type JobHandler } from '../ports/jobs.ts';
import type { Notifier, PingMessage, PingOutcome, PingTarget } from '../ports/notifier.ts';
import type { Store } from '../ports/store.ts';
import { readClientRecord } from '../registry/client-record.ts';
import { refs } from '../registry/refs.ts';
import { unreachable } from './choose-devices.ts';
import { type PingPayload, readPingPayload } from './ping-payload.ts';
import { retirePin } from './retire-pin.ts';

export interface DeliveryPorts {
  readonly store: Store;
  readonly notifier: Notifier;
  /** Hears what became of each attempt, for the statistics. */
  readonly onOutcome?: (deviceType: string, outcome: 'accepted' | 'retired' | 'failed') => void;
}

/** Runs the jobs that `Pings` has left: carries one ping to one device. */
export function deliverPing({ store, notifier, onOutcome }: DeliveryPorts): JobHandler {
  return async (job) => {
    const payload = readPingPayload(job.payload);
    const target = await targetOf(store, payload);
    // Nobody is there any more, or nowhere to be reached: there is nothing left to do.
    if (target === null) return;
    const message: PingMessage = { id: payload.id, ...payload.content };
    const outcome = await notifier.notify(target, message).catch(failedBy);
    onOutcome?.(target.deviceType, outcome.status);
    if (outcome.status === 'retired') await retirePin(store, target.client, target.devicePin);
    if (outcome.status === 'failed') throw new JobFailure(outcome.reason, outcome);
  };
}

/** A notifier should answer; one that throws has failed all the same, and its message may contain anything. */
function failedBy(error: unknown): PingOutcome {
  const name = error instanceof Error ? error.name : typeof error;
  return { status: 'failed', reason: `the notifier broke: ${name}`, retryAfterMs: null, isFinal: false };
}

/** Where the device is reached now. Null: it is gone, is another one by now, or has no address. */
async function targetOf(store: Store, { client, user, createdAtMs }: PingPayload): Promise<PingTarget | null> {
  const entry = await store.readEntry(refs.client(client));
  const record = entry === null ? null : readClientRecord(entry.value);
  if (record === null || record.user !== user || record.createdAtMs !== createdAtMs) return null;
  const { device_type: deviceType, device_pin: devicePin, device_port: devicePort } = record.device;
  if (deviceType === null || devicePin === null || unreachable({ client, record }) !== null) return null;
  return { client, deviceType, devicePin, devicePort };
}
