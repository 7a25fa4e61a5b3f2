import { type PushService, pushServiceOf, pushTypeOf } from '@tidemark/protocol';
import { readClientRecord, writeClientRecord } from '../devices/client-record.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import { JobFailure, type JobHandler, type LeasedJob } from '../ports/jobs.ts';
import type { Notifier, PingMessage, PingOutcome, PingTarget } from '../ports/notifier.ts';
import type { Entry, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { isWithoutAddress, unreachable } from './choose-devices.ts';
import { type PingPayload, readPingPayload } from './ping-payload.ts';
import { isFinal, type PingedHead, type ResultRecord, type ResultStatus } from './ping-record.ts';
import type { PingResults } from './ping-results.ts';
import { pingQueue } from './pings.ts';
import type { RecentPings } from './recent-pings.ts';

/** The result of one attempt to deliver a ping to a device. */
export interface PingAttempt {
  readonly ping: string;
  readonly user: string;
  readonly client: string;
  readonly sources: readonly string[];
  readonly deviceType: string;
  /** Null: the device has no address any more. */
  readonly service: PushService | null;
  readonly status: ResultStatus;
}

export interface DeliveryPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** The clock for `PingPayload.atMs`. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly notifier: Notifier;
  readonly results: PingResults;
  readonly recent: RecentPings;
  /** Returns what the sources hold for the user. Absent: results do not say who caught up. */
  readonly headsOf?: (user: string, sources: readonly string[]) => Promise<readonly PingedHead[]>;
  /** Called with the result of each attempt, for the statistics. */
  readonly onOutcome?: (attempt: PingAttempt) => void;
}

/** Returns the handler for the jobs of `Pings`: it sends one ping to one device and stores the result. */
export function deliverPing(ports: DeliveryPorts): JobHandler {
  return (job) => new Delivery(ports, job).run();
}

class Delivery {
  readonly #ports: DeliveryPorts;
  readonly #job: LeasedJob;
  readonly #payload: PingPayload;
  #service: PushService | null = null;
  #deviceType = 'none';
  /** True when an earlier attempt may have reached the device. */
  #isSecondTime = false;
  #isRepeated = false;
  #heads: readonly PingedHead[] = [];

  constructor(ports: DeliveryPorts, job: LeasedJob) {
    this.#ports = ports;
    this.#job = job;
    this.#payload = readPingPayload(job.payload);
  }

  async run(): Promise<void> {
    // A first attempt has no earlier result, which saves a look-up.
    const before = this.#job.attempt === 1 ? null : await this.#before();
    // An earlier process died between storing the result and acknowledging the job.
    if (before !== null && isFinal(before.status)) return;
    this.#isSecondTime = this.#isGap(before);
    const { store, recent, notifier, clock, steadyClock = clock } = this.#ports;
    const target = targetIn(await store.readEntry(refs.client(this.#payload.client)), this.#payload, this.#job);
    if (target === null) return this.#keep('gone', 'the device was deleted or has no address any more');
    this.#service = pushServiceOf(target.pushType);
    this.#deviceType = target.deviceType;
    if (recent.isCovered(this.#payload))
      return this.#keep('collapsed', 'a later ping with the same content was sent to the device');
    const leftAtMs = steadyClock.nowMs();
    this.#isRepeated = this.#isSecondTime;
    this.#heads = (await this.#ports.headsOf?.(this.#payload.user, this.#payload.content.sources)) ?? [];
    let outcome: PingOutcome;
    try {
      outcome = await notifier.notify(target, this.#message());
    } catch (error) {
      outcome = failedBy(error);
    }
    if (outcome.status === 'accepted' || outcome.status === 'sent') recent.note(this.#payload, leftAtMs);
    if (outcome.status === 'retired') await forgetDevicePin(store, target.client, target.devicePin);
    await this.#keepOutcome(outcome);
    if (outcome.status === 'failed') throw new JobFailure(outcome.reason, outcome);
  }

  #message(): PingMessage {
    const { id, content } = this.#payload;
    return { id, ...content };
  }

  #keepOutcome(outcome: PingOutcome): Promise<void> {
    switch (outcome.status) {
      case 'accepted':
        return this.#keep('accepted', outcome.note ?? null);
      case 'sent':
        return this.#keep('sent', null);
      case 'retired':
        return this.#keep('retired', outcome.reason);
      case 'failed': {
        const isLast = outcome.isFinal || this.#job.attempt >= this.#job.attemptsMax;
        return this.#keep(isLast ? 'failed' : 'retrying', outcome.reason, outcome.isAnswerLost === true);
      }
    }
  }

  #keep(status: ResultStatus, reason: string | null, isAnswerLost = false): Promise<void> {
    const { results, clock, onOutcome } = this.#ports;
    const { ping, user, client, content } = this.#payload;
    const [deviceType, service] = [this.#deviceType, this.#service];
    onOutcome?.({ ping, user, client, sources: content.sources ?? [], deviceType, service, status });
    const { attempt: attempts } = this.#job;
    const atMs = clock.nowMs();
    const isRepeated = this.#isRepeated;
    const heads = this.#heads.length === 0 ? {} : { heads: this.#heads };
    const result = { status, service: this.#service, reason, attempts, atMs, isRepeated, isAnswerLost, ...heads };
    return results.record({ ping, client, result });
  }

  #before(): Promise<ResultRecord | null> {
    const { ping, client } = this.#payload;
    return this.#ports.results.of(ping, client);
  }

  /**
   * Whether an earlier attempt may have reached the device: its answer was lost, or it stored no result because its process
   * died.
   */
  #isGap(before: ResultRecord | null): boolean {
    if (this.#job.attempt === 1) return false;
    return before === null || before.isAnswerLost || before.attempts < this.#job.attempt - 1;
  }
}

/** The outcome of a notifier that threw. The message of the error is left out, because it may contain a secret. */
function failedBy(error: unknown): PingOutcome {
  const name = error instanceof Error ? error.name : typeof error;
  return { status: 'failed', reason: `the notifier broke: ${name}`, retryAfterMs: null, isFinal: false };
}

/**
 * Returns the current address of the device; null when it was deleted, registered again or has no address. A ping that is
 * meant for an open connection needs none.
 */
function targetIn(
  entry: Entry | null,
  { client, user, createdAtMs }: PingPayload,
  { queue }: LeasedJob,
): PingTarget | null {
  const record = entry === null ? null : readClientRecord(entry.value);
  if (record === null || record.user !== user || record.createdAtMs !== createdAtMs) return null;
  const { device } = record;
  const isLive = queue === pingQueue('live') && isWithoutAddress({ client, record });
  const pushType = isLive ? 'live' : pushTypeOf(device);
  if (pushType === null || pushType === 'none') return null;
  if (!isLive && unreachable({ client, record }) !== null) return null;
  return {
    client,
    deviceType: device.device_type ?? pushType,
    pushType,
    devicePin: device.device_pin ?? '',
    devicePort: device.device_port,
    appId: device.device_app_id,
  };
}

/** Removes an address that no longer works from its device, unless the device has registered a new one. */
async function forgetDevicePin(store: Store, client: string, pin: string): Promise<void> {
  await retryOnConflict(async () => {
    const entry = await store.readEntry(refs.client(client));
    const record = entry === null ? null : readClientRecord(entry.value);
    if (entry === null || record === null || record.device.device_pin !== pin) return true;
    const value = writeClientRecord({ ...record, device: { ...record.device, device_pin: null } });
    const write = { ...refs.client(client), value, expect: entry.version };
    return (await store.writeEntries({ writes: [write], guards: [] })).status === 'written' ? true : null;
  });
}
