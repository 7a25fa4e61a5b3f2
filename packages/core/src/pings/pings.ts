import { type Limits, PING_ATTEMPTS_MAX, PING_DEVICES_MAX, pointer, Refusal } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import type { Jobs, NewJob } from '../ports/jobs.ts';
import type { Pace } from '../ports/pace.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { clientsOf } from '../registry/belongings.ts';
import { readClientRecord } from '../registry/client-record.ts';
import { randomWord } from '../registry/random-word.ts';
import { refs } from '../registry/refs.ts';
import { admitPing, type PingCall } from './admit-ping.ts';
import { chooseDevices, type PingDevice, type SkippedDevice } from './choose-devices.ts';
import { pingPayloads } from './ping-payload.ts';
import { PingQuota } from './ping-quota.ts';

export interface PingsPorts {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  readonly pace?: Pace;
}

export const PING_QUEUE = 'pings';
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
    this.#quota = new PingQuota(ports.clock, ports.limits.pingsPerMinuteMax);
  }

  /** `caller` is whoever the quota counts for. The devices all get their job, or none does. */
  async send(call: unknown, caller: string): Promise<PingReport> {
    const ping = admitPing(call);
    this.#quota.take(caller);
    await this.#requireSources(ping);
    const { users, unknown, devices } = await this.#addressees(ping);
    const { chosen, skipped } = chooseDevices(devices);
    const pingId = randomWord(this.#ports.random);
    await this.#ports.jobs.enqueueAll(PING_QUEUE, jobsFor(pingId, ping, chosen));
    return { ping_id: pingId, users, devices: chosen.length, skipped, unknown_users: unknown };
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

function jobsFor(pingId: string, { content }: PingCall, devices: readonly PingDevice[]): readonly NewJob[] {
  const payloads = pingPayloads(
    content,
    devices.map(({ client, record: { user, createdAtMs } }, index) => ({
      id: `${pingId}_${index}`,
      client,
      user,
      createdAtMs,
    })),
  );
  return payloads.map((payload) => ({ kind: PING_KIND, payload, attemptsMax: PING_ATTEMPTS_MAX }));
}

function tooMany(): Refusal {
  const detail = `the users have more than the ${PING_DEVICES_MAX} devices of one ping`;
  return new Refusal('limit_exceeded', detail, [{ pointer: pointer('user_id'), detail }]);
}
