import {
  type Limits,
  PING_ATTEMPTS_MAX,
  PUSH_SERVICES,
  type PushService,
  pointer,
  pushServiceOf,
  pushTypeOf,
  Refusal,
} from '@tidemark/protocol';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Jobs, NewJob } from '../ports/jobs.ts';
import type { Random } from '../ports/random.ts';
import { randomId } from '../primitives/base62.ts';
import { newestFirstKey } from '../primitives/time.ts';
import { AddresseeLookUp, type AddresseeLookUpPorts, type Addressees } from './addressees.ts';
import { admitPing, type PingCall } from './admit-ping.ts';
import {
  chooseDevices,
  type DeviceChoice,
  isWithoutAddress,
  type PingDevice,
  type SkippedDevice,
} from './choose-devices.ts';
import { type PingPayload, pingPayloads } from './ping-payload.ts';
import { PingQuota } from './ping-quota.ts';
import { NO_RESULTS, type PingRecord } from './ping-record.ts';
import type { PingResults } from './ping-results.ts';

export interface PingsPorts extends AddresseeLookUpPorts {
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** A monotonic clock for durations within this process. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly random: Random;
  readonly limits: Limits;
  readonly results: PingResults;
  /** The unique id of this process. */
  readonly by: string;
  /** Devices of one push service pinged per second; more are spread over several seconds. */
  readonly spreadPerS?: number;
  /** Whether a device has acknowledged the heads of all these sources. Absent: no device has. */
  readonly isCaughtUp?: (user: string, client: string, sources: readonly string[]) => Promise<boolean>;
  /** Called with the caller of every ping that was counted here. */
  readonly onCounted?: (caller: string) => void;
}

/** Each push service has its own queue, so that a slow one does not delay the others. */
export function pingQueue(service: PushService): string {
  return `pings-${service}`;
}

export const PING_KIND = 'ping';

export interface PingReport {
  readonly ping_id: string;
  /** The number of users that exist. */
  readonly users: number;
  /** The number of devices to which the ping is sent. */
  readonly devices: number;
  readonly skipped: readonly SkippedDevice[];
  readonly unknown_users: readonly string[];
}

type Origin = Pick<PingRecord, 'actor' | 'cause'>;

/** Sends the pings of specification 2.5: finds the devices and enqueues a job for each. `deliverPing` runs the jobs. */
export class Pings {
  readonly #ports: PingsPorts;
  readonly #quota: PingQuota;
  readonly #lookUp: AddresseeLookUp;

  constructor(ports: PingsPorts) {
    this.#ports = ports;
    this.#lookUp = new AddresseeLookUp(ports);
    this.#quota = new PingQuota(ports.steadyClock ?? ports.clock, ports.limits.pingsPerMinuteMax);
  }

  /** The quota counts the ping for `caller`. */
  async send(call: unknown, caller: string): Promise<PingReport> {
    const ping = admitPing(call);
    this.#quota.take(caller);
    this.#ports.onCounted?.(caller);
    await this.#requireSources(ping);
    const addressees = await this.#lookUp.ofUsers(ping.users);
    const listening = await this.#lookUp.listening(addressees.devices);
    return this.#sendTo({ ...addressees, listening }, ping, { actor: caller, cause: 'call' });
  }

  /** Counts a ping that the caller has sent through another server. */
  countElsewhere(caller: string): void {
    this.#quota.note(caller);
  }

  /**
   * Pings users because a source with `push_notify` has changed. The quota does not apply. Devices without an address are
   * left out: those that are connected have got the change itself.
   */
  async announce(source: string, users: readonly string[]): Promise<PingReport> {
    const ping = { users, onlyBehind: false, content: { sources: [source] } };
    return this.#sendTo(await this.#lookUp.ofUsers(ping.users), ping, { actor: null, cause: 'push' });
  }

  /** Pings devices that are still behind after `announce`. Returns how many; those without an address are left out. */
  async repeat(source: string, clients: readonly string[]): Promise<number> {
    const { chosen } = chooseDevices(await this.#lookUp.devices(clients));
    if (chosen.length === 0) return 0;
    const users = [...new Set(chosen.map(({ record }) => record.user))];
    const ping = { users, onlyBehind: false, content: { sources: [source] } };
    const addressees = { users: users.length, unknown: [], devices: chosen };
    const { devices: sent } = await this.#sendTo(addressees, ping, { actor: null, cause: 'repeat' });
    return sent;
  }

  async #sendTo(
    { users, unknown, devices, listening }: Addressees,
    ping: PingCall,
    origin: Origin,
  ): Promise<PingReport> {
    const { chosen, skipped } = await this.#withoutCaughtUp(ping, chooseDevices(devices, listening));
    const { results, clock, random } = this.#ports;
    const atMs = clock.nowMs();
    const id = `${newestFirstKey(atMs)}${randomId(random)}`;
    const { sources, message } = ping.content;
    const about = { ...origin, atMs, sources, hasMessage: message !== undefined, users };
    const counts = { devices: chosen.length, skipped: skipped.length, counts: NO_RESULTS, repeated: 0 };
    await results.open(id, { ...about, ...counts });
    const late = await this.#enqueue(id, atMs, ping, chosen);
    return {
      ping_id: id,
      users,
      devices: chosen.length - late.length,
      skipped: [...skipped, ...late],
      unknown_users: unknown,
    };
  }

  async #withoutCaughtUp({ onlyBehind, content }: PingCall, choice: DeviceChoice): Promise<DeviceChoice> {
    const { isCaughtUp } = this.#ports;
    if (!onlyBehind || isCaughtUp === undefined) return choice;
    const chosen: PingDevice[] = [];
    const skipped = [...choice.skipped];
    for (const device of choice.chosen) {
      const isSkipped = await isCaughtUp(device.record.user, device.client, content.sources ?? []);
      if (isSkipped) skipped.push({ client_id: device.client, reason: 'up_to_date' });
      else chosen.push(device);
    }
    return { chosen, skipped };
  }

  /**
   * Enqueues a job for each device, all jobs of a push service or none. Devices of a service whose queue is full are
   * returned as skipped; when all queues are full, the ping is refused.
   */
  async #enqueue(
    id: string,
    atMs: number,
    ping: PingCall,
    chosen: readonly PingDevice[],
  ): Promise<readonly SkippedDevice[]> {
    const { jobs, results } = this.#ports;
    const late: PingDevice[] = [];
    let failure: unknown = null;
    for (const [service, devices] of byService(chosen)) {
      try {
        await jobs.enqueueAll(pingQueue(service), this.#jobsFor({ id, atMs, service }, ping, devices));
      } catch (error) {
        failure = error;
        late.push(...devices);
      }
    }
    if (late.length === 0) return [];
    const isFull = failure instanceof Refusal && failure.code === 'queue_full';
    if (late.length === chosen.length) await results.withdraw(id);
    if (late.length === chosen.length || !isFull) throw failure;
    await results.leaveOut(id, late.length);
    return late.map(({ client }) => ({ client_id: client, reason: 'queue_full' as const }));
  }

  #jobsFor(
    { id, atMs, service }: { readonly id: string; readonly atMs: number; readonly service: PushService },
    { content }: PingCall,
    devices: readonly PingDevice[],
  ): readonly NewJob[] {
    const { by, clock, steadyClock = clock, spreadPerS = Number.POSITIVE_INFINITY } = this.#ports;
    const sentAtMs = steadyClock.nowMs();
    const windowMs = devices.length > spreadPerS ? Math.ceil((devices.length / spreadPerS) * 1_000) : 0;
    const payloads = pingPayloads(
      content,
      devices.map(
        ({ client, record: { user, createdAtMs } }, index): Omit<PingPayload, 'content'> => ({
          id: `${id}_${service}${index}`,
          ping: id,
          client,
          user,
          createdAtMs,
          atMs: sentAtMs,
          by,
        }),
      ),
    );
    return payloads.map((payload) => {
      const job = { kind: PING_KIND, payload, attemptsMax: PING_ATTEMPTS_MAX };
      return windowMs === 0 ? job : { ...job, dueAtMs: atMs + this.#draw(windowMs) };
    });
  }

  /** Returns a random whole number from 0 to `below` - 1. */
  #draw(below: number): number {
    const fraction = this.#ports.random.bytes(4).reduce((sum, byte) => sum * 256 + byte, 0) / 2 ** 32;
    return Math.floor(fraction * below);
  }

  async #requireSources({ content }: PingCall): Promise<void> {
    for (const name of content.sources) {
      if ((await this.#ports.store.readEntry(refs.source(name))) !== null) continue;
      const detail = `there is no source ${JSON.stringify(name)}`;
      throw new Refusal('source_not_found', detail, [{ pointer: pointer('sources'), detail }]);
    }
  }
}

function byService(devices: readonly PingDevice[]): ReadonlyMap<PushService, readonly PingDevice[]> {
  const services = new Map<PushService, PingDevice[]>(PUSH_SERVICES.map((service) => [service, []]));
  for (const device of devices) {
    const type = isWithoutAddress(device) ? 'live' : pushTypeOf(device.record.device);
    if (type !== null && type !== 'none') services.get(pushServiceOf(type))?.push(device);
  }
  return new Map([...services].filter(([, members]) => members.length > 0));
}
