import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Tidemark } from '@tidemark/core';
import { OUTCOMES_PER_PULL_MAX, type Outcome, UPLOADS_PER_PUSH_MAX, type Upload } from '@tidemark/protocol';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import {
  answerJson,
  collectingLog,
  Dice,
  type FakeBackend,
  openFakeBackend,
  seededRandom,
  weakPasswords,
} from '@tidemark/testing/kit';
import { QUEUE } from './orders.ts';

export interface UploadsCrashOptions {
  readonly kills: number;
  readonly uploads: number;
  readonly seed: number;
  /** Everything happens in it. */
  readonly folder: string;
}

export interface UploadsCrashReport {
  readonly kills: number;
  /** Calls that reached the backend, repetitions included. */
  readonly calls: number;
  readonly problems: readonly string[];
}

/** Sources and build lie side by side, so this finds the built worker from either. */
const WORKER = fileURLToPath(new URL('../../../dist/crash/uploads/worker.js', import.meta.url));
const WAIT_MS_MAX = 450_000;
const UPLOADS_PER_OBJECT = 5;

/** Kills a process that carries uploads to a backend again and again, then lets one finish, and looks whether all adds up. */
export async function runUploadsCrashes(options: UploadsCrashOptions): Promise<UploadsCrashReport> {
  const { kills: killsMax, uploads: count, seed } = options;
  const folder = join(options.folder, 'store');
  const office = new Office();
  const fake = await openFakeBackend(() => 'unsigned');
  fake.on('*', ({ call, body }, response) => answerJson(response, { id: office.perform(call, body) }));
  const device = await leaveUploads(folder, uploadsFor(count));
  const dice = new Dice(seededRandom(seed));
  const perLife = Math.floor(count / (killsMax + 1));
  let kills = 0;
  while (kills < killsMax && office.effects.size < count) {
    const calls = dice.between(1, Math.max(2, perLife * 2));
    if (await runWorker(folder, fake, { calls, delayMs: dice.between(0, 12) })) kills++;
  }
  if (await runWorker(folder, fake, null)) throw new Error('the last worker was too slow');
  const calls = fake.requests.length;
  await fake.close();
  return { kills, calls, problems: [...office.problems, ...(await problemsIn(folder, device, count))] };
}

/** A backend that remembers op ids, and looks whether changes to one object come in order. */
class Office {
  /** Op id → the id of the object. */
  readonly effects = new Map<string, string>();
  readonly problems: string[] = [];
  readonly #next = new Map<string, number>();

  perform(call: string, body: Readonly<Record<string, unknown>>): string {
    const opId = String(body.opId);
    const known = this.effects.get(opId);
    if (known !== undefined) return known;
    const [, object = '', place = ''] = /:(\d+)-(\d+)$/.exec(opId) ?? [];
    const expected = this.#next.get(object) ?? 0;
    if (Number(place) !== expected) this.problems.push(`object ${object}: ${place} came where ${expected} was due`);
    this.#next.set(object, Number(place) + 1);
    const id = call === 'create' ? `office-${object}` : String(body.id);
    if (id !== `office-${object}`) this.problems.push(`${opId} came under the id ${id}`);
    this.effects.set(opId, id);
    return id;
  }
}

/** Every object is made under a temporary id and then changed under it. The op id tells object and place. */
function uploadsFor(count: number): readonly Upload[] {
  return Array.from({ length: count }, (_, index) => {
    const objects = Math.ceil(count / UPLOADS_PER_OBJECT);
    const object = index % objects;
    const place = Math.floor(index / objects);
    const op = place === 0 ? 'create' : 'update';
    return {
      op_id: `${object}-${place}`,
      source: 'Order',
      op,
      id: `tmp-${object}`,
      attributes: { place, [`p${place}`]: 1 },
    };
  });
}

interface Device {
  readonly user: string;
  readonly client: string;
}

async function leaveUploads(folder: string, uploads: readonly Upload[]): Promise<Device> {
  return withTidemark(folder, async (tidemark) => {
    await tidemark.sources.declare({ name: 'Order', adapter: 'backend', poll_interval: -1, cud_queue: QUEUE });
    await tidemark.users.ensure('ada');
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    for (let start = 0; start < uploads.length; start += UPLOADS_PER_PUSH_MAX) {
      await tidemark.devices.push(device, { changes: uploads.slice(start, start + UPLOADS_PER_PUSH_MAX) });
    }
    return device;
  });
}

/** True: it was killed. False: it had nothing more to do. */
async function runWorker(
  folder: string,
  fake: FakeBackend,
  plan: { readonly calls: number; readonly delayMs: number } | null,
): Promise<boolean> {
  const orders = JSON.stringify({ folder, url: fake.url });
  const child = spawn(process.execPath, [WORKER, orders], { stdio: ['ignore', 'inherit', 'inherit'] });
  const alarm = setTimeout(() => child.kill('SIGKILL'), WAIT_MS_MAX);
  const ended = once(child, 'close');
  const before = fake.requests.length;
  if (plan !== null) {
    while (child.exitCode === null && child.signalCode === null && fake.requests.length - before < plan.calls)
      await pass(1);
    await pass(plan.delayMs);
    child.kill('SIGKILL');
  }
  const [code, signal] = (await ended) as [number | null, string | null];
  clearTimeout(alarm);
  if (signal === null && code !== 0) throw new Error(`the worker failed with ${code}`);
  return signal !== null;
}

async function problemsIn(folder: string, device: Device, count: number): Promise<readonly string[]> {
  return withTidemark(folder, async (tidemark) => {
    const outcomes = await allOutcomes(tidemark, device);
    const problems = outcomes
      .filter(({ status }) => status !== 'applied')
      .map(({ op_id, status }) => `${op_id} ${status}`);
    if (outcomes.length !== count) problems.push(`${outcomes.length} outcomes of ${count} were told`);
    const objects = await tidemark.readObjects({ source: 'Order', user_id: device.user });
    if (objects.size !== Math.ceil(count / UPLOADS_PER_OBJECT)) problems.push(`${objects.size} objects are there`);
    for (const [id, { place }] of objects) {
      if (!id.startsWith('office-') || place !== UPLOADS_PER_OBJECT - 1) problems.push(`${id} ended at ${place}`);
    }
    for await (const { problem, detail } of tidemark.verify()) problems.push(`${problem} ${detail}`);
    return problems;
  });
}

/** As a device gets them: so many at a time, acknowledging what it knows. */
async function allOutcomes(tidemark: Tidemark, device: Device): Promise<readonly Outcome[]> {
  const all: Outcome[] = [];
  let acknowledged = new Map<string, readonly string[]>();
  for (;;) {
    const { outcomes } = await tidemark.devices.pull(device, { sources: new Map([['Order', null]]), acknowledged });
    all.push(...outcomes);
    acknowledged = new Map([['Order', outcomes.map(({ op_id }) => op_id)]]);
    if (outcomes.length < OUTCOMES_PER_PULL_MAX) return all;
  }
}

async function withTidemark<T>(folder: string, work: (tidemark: Tidemark) => Promise<T>): Promise<T> {
  const store = await openEmbeddedStore({ folder });
  const clock = { nowMs: () => Date.now() };
  const random = seededRandom(1);
  const nobody = { query: absent, create: absent, update: absent, delete: absent };
  const tidemark = new Tidemark({
    store,
    clock,
    random,
    passwords: weakPasswords(random),
    log: collectingLog(),
    adapters: { find: () => nobody },
    jobs: store.jobs({ clock }),
  });
  try {
    return await work(tidemark);
  } finally {
    await store.close();
  }
}

function absent(): Promise<never> {
  return Promise.reject(new Error('only workers ask the backend'));
}
