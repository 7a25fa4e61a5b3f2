import {
  type Limits,
  PING_ATTEMPTS_MAX,
  PING_DEVICES_MAX,
  PUSH_SERVICES,
  type PushService,
  pointer,
  pushServiceOf,
  pushTypeOf,
  Refusal,
} from '@tidemark/protocol';
import { readClientRecord } from '../devices/client-record.ts';
import { clientsOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Jobs, NewJob } from '../ports/jobs.ts';
import type { Pace } from '../ports/pace.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { newestFirstKey } from '../primitives/time.ts';
import { admitPing, type PingCall } from './admit-ping.ts';
import { chooseDevices, type PingDevice, type SkippedDevice } from './choose-devices.ts';
import { type PingPayload, pingPayloads } from './ping-payload.ts';
import { PingQuota } from './ping-quota.ts';
import { NO_RESULTS, type PingRecord } from './ping-record.ts';
import type { PingResults } from './ping-results.ts';

export interface PingsPorts {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** Measures durations within this process: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly random: Random;
  readonly limits: Limits;
  readonly results: PingResults;
  /** What this process calls itself; no other one does. */
  readonly by: string;
  /** Devices of one push service that a ping may reach in a second; more of them are spread over several. */
  readonly spreadPerS?: number;
  readonly pace?: Pace;
  /** Told of every caller whose ping was counted here. */
  readonly onCounted?: (caller: string) => void;
}

/** Each push service has a queue of its own: one that is slow or down holds up nobody else. */
export function pingQueue(service: PushService): string {
  return `pings-${service}`;
}

export const PING_KIND = 'ping';

export interface PingReport {
  readonly ping_id: string;
  /** Users that are known. */
  readonly users: number;
  /** Devices the ping is on its way to. */
  readonly devices: number;
  readonly skipped: readonly SkippedDevice[];
  readonly unknown_users: readonly string[];
}

interface Addressees {
  readonly users: number;
  readonly unknown: readonly string[];
  readonly devices: readonly PingDevice[];
}

/** Lookups before somebody else gets a turn. */
const LOOKUPS_PER_TURN = 500;

/** Sends the pings of specification 2.5: finds the devices and leaves a job for each; whoever runs them delivers. */
export class Pings {
  readonly #ports: PingsPorts;
  readonly #quota: PingQuota;

  constructor(ports: PingsPorts) {
    this.#ports = ports;
    this.#quota = new PingQuota(ports.steadyClock ?? ports.clock, ports.limits.pingsPerMinuteMax);
  }

  /** `caller` is whoever the quota counts for. */
  async send(call: unknown, caller: string): Promise<PingReport> {
    const ping = admitPing(call);
    this.#quota.take(caller);
    this.#ports.onCounted?.(caller);
    await this.#requireSources(ping);
    return this.#dispatch(ping, { actor: caller, cause: 'call' });
  }

  /** Another server has counted a ping of the caller. */
  countElsewhere(caller: string): void {
    this.#quota.note(caller);
  }

  /** Tells users that a source has changed, as `push_notify` asks for. No quota: whoever calls this takes care. */
  announce(source: string, users: readonly string[]): Promise<PingReport> {
    return this.#dispatch({ users, content: { sources: [source] } }, { actor: null, cause: 'push' });
  }

  async #dispatch(ping: PingCall, origin: Pick<PingRecord, 'actor' | 'cause'>): Promise<PingReport> {
    const { users, unknown, devices } = await this.#addressees(ping);
    const { chosen, skipped } = chooseDevices(devices);
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

  /**
   * Leaves a job for each device, service by service: all devices of a service get theirs or none does. Those of a
   * service with too much to do already are named in the answer; when nobody is left, the ping is refused.
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

  /** Anything from 0 up to, not including, `below`. */
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

  async #addressees({ users }: PingCall): Promise<Addressees> {
    const { store } = this.#ports;
    const unknown: string[] = [];
    const devices: PingDevice[] = [];
    const breathe = this.#breathing();
    for (const user of users) {
      await breathe();
      if ((await store.readEntry(refs.user(user))) === null) unknown.push(user);
      else for await (const device of this.#devicesOf(user, breathe)) devices.push(device);
      if (devices.length > PING_DEVICES_MAX) throw tooMany();
    }
    return { users: users.length - unknown.length, unknown, devices };
  }

  /** A device that goes while this looks is as good as never there. */
  async *#devicesOf(user: string, breathe: () => Promise<void>): AsyncGenerator<PingDevice> {
    const { store } = this.#ports;
    for (const client of await clientsOf(store, user)) {
      await breathe();
      const entry = await store.readEntry(refs.client(client));
      const record = entry === null ? null : readClientRecord(entry.value);
      if (record !== null && record.user === user) yield { client, record };
    }
  }

  #breathing(): () => Promise<void> {
    let lookups = 0;
    return async () => {
      if (++lookups % LOOKUPS_PER_TURN === 0) await this.#ports.pace?.turn();
    };
  }
}

function byService(devices: readonly PingDevice[]): ReadonlyMap<PushService, readonly PingDevice[]> {
  const services = new Map<PushService, PingDevice[]>(PUSH_SERVICES.map((service) => [service, []]));
  for (const device of devices) {
    const type = pushTypeOf(device.record.device);
    if (type !== null && type !== 'none') services.get(pushServiceOf(type))?.push(device);
  }
  return new Map([...services].filter(([, members]) => members.length > 0));
}

function tooMany(): Refusal {
  const detail = `the users have more than the ${PING_DEVICES_MAX} devices of one ping`;
  return new Refusal('limit_exceeded', detail, [{ pointer: pointer('user_id'), detail }]);
}
