import { join } from 'node:path';
import { Tidemark } from '@tidemark/core';
import { OUTCOMES_PER_PULL_MAX, type Outcome, UPLOADS_PER_PUSH_MAX, type Upload } from '@tidemark/protocol';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import {
  answerJson,
  collectingLog,
  openFakeBackend,
  Rng,
  seededRandom,
  temporaryFolder,
  weakPasswords,
} from '@tidemark/testing/kit';
import { runWorker } from '../../processes/run-worker.ts';
import type { Command } from '../../runner/command.ts';
import { type Line, QUEUE } from './line.ts';

export interface UploadsCrashOptions {
  readonly kills: number;
  readonly uploads: number;
  readonly seed: number;
  readonly folder: string;
}

export interface UploadsCrashReport {
  readonly kills: number;
  /** Calls that reached the backend, repetitions included. */
  readonly calls: number;
  readonly problems: readonly string[];
}

const UPLOADS_PER_OBJECT = 5;

/** Kills a process that carries uploads to a backend again and again, then lets one finish, and checks the result. */
export async function runUploadsCrashes(options: UploadsCrashOptions): Promise<UploadsCrashReport> {
  const { kills: killsMax, uploads: count, seed } = options;
  const folder = join(options.folder, 'store');
  const backend = new OrderedBackend();
  const server = await openFakeBackend(() => 'unsigned');
  server.on('*', ({ call, body }, response) => answerJson(response, { id: backend.perform(call, body) }));
  const device = await enqueueUploads(folder, uploadsFor(count));
  const rng = new Rng(seededRandom(seed));
  const perKill = Math.floor(count / (killsMax + 1));
  const work = async (kill: { readonly count: number; readonly delayMs: number } | null) => {
    const { lines, isKilled } = await runWorker<Line>({
      program: 'crash/uploads/worker.js',
      options: { folder, url: server.url },
      kill: kill && { ...kill, isCounted: ({ say }) => say === 'call' },
    });
    const last = lines.at(-1);
    if (last?.say === 'failed') throw new Error(last.reason);
    return isKilled;
  };
  let kills = 0;
  while (kills < killsMax && backend.effects.size < count) {
    const calls = rng.between(1, Math.max(2, perKill * 2));
    if (await work({ count: calls, delayMs: rng.between(0, 12) })) kills++;
  }
  await work(null);
  const calls = server.requests.length;
  await server.close();
  return { kills, calls, problems: [...backend.problems, ...(await problemsIn(folder, device, count))] };
}

/** A backend that remembers op ids, and checks that changes of one object arrive in order. */
class OrderedBackend {
  /** Op id → the id of the object. */
  readonly effects = new Map<string, string>();
  readonly problems: string[] = [];
  readonly #next = new Map<string, number>();

  perform(call: string, body: Readonly<Record<string, unknown>>): string {
    const opId = String(body.opId);
    const known = this.effects.get(opId);
    if (known !== undefined) return known;
    const [, object = '', position = ''] = /:(\d+)-(\d+)$/.exec(opId) ?? [];
    const expected = this.#next.get(object) ?? 0;
    if (Number(position) !== expected)
      this.problems.push(`object ${object}: change ${position} arrived instead of ${expected}`);
    this.#next.set(object, Number(position) + 1);
    const id = call === 'create' ? `made-${object}` : String(body.id);
    if (id !== `made-${object}`) this.problems.push(`${opId} arrived with the id ${id}`);
    this.effects.set(opId, id);
    return id;
  }
}

/** Creates every object under a temporary id and then updates it. The op id contains the object and the position. */
function uploadsFor(count: number): readonly Upload[] {
  return Array.from({ length: count }, (_, index) => {
    const objects = Math.ceil(count / UPLOADS_PER_OBJECT);
    const object = index % objects;
    const position = Math.floor(index / objects);
    const op = position === 0 ? 'create' : 'update';
    return {
      op_id: `${object}-${position}`,
      source: 'Order',
      op,
      id: `tmp-${object}`,
      attributes: { position, [`p${position}`]: 1 },
    };
  });
}

interface Device {
  readonly user: string;
  readonly client: string;
}

async function enqueueUploads(folder: string, uploads: readonly Upload[]): Promise<Device> {
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

async function problemsIn(folder: string, device: Device, count: number): Promise<readonly string[]> {
  return withTidemark(folder, async (tidemark) => {
    const outcomes = await allOutcomes(tidemark, device);
    const problems = outcomes
      .filter(({ status }) => status !== 'applied')
      .map(({ op_id, status }) => `${op_id} ${status}`);
    if (outcomes.length !== count) problems.push(`${outcomes.length} outcomes of ${count} uploads were reported`);
    const objects = await tidemark.objects.read({ source: 'Order', user_id: device.user });
    if (objects.size !== Math.ceil(count / UPLOADS_PER_OBJECT)) problems.push(`${objects.size} objects exist`);
    for (const [id, { position }] of objects) {
      if (!id.startsWith('made-') || position !== UPLOADS_PER_OBJECT - 1) problems.push(`${id} ended at ${position}`);
    }
    for await (const { problem, detail } of tidemark.verify()) problems.push(`${problem} ${detail}`);
    return problems;
  });
}

/** Pulls all outcomes as a device does, acknowledging the earlier ones. */
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
  const unreachable = { query: absent, create: absent, update: absent, delete: absent };
  const tidemark = new Tidemark({
    store,
    clock,
    random,
    passwords: weakPasswords(random),
    log: collectingLog(),
    adapters: { find: () => unreachable },
    jobs: store.jobs({ clock }),
  });
  try {
    return await work(tidemark);
  } finally {
    await store.close();
  }
}

function absent(): Promise<never> {
  return Promise.reject(new Error('only workers call the backend'));
}

const KILLS_DEFAULT = 50;
const UPLOADS_DEFAULT = 1_000;

export const crashUploadsCommand: Command = {
  name: 'crash:uploads',
  summary: 'SIGKILL at random moments of a worker that carries uploads to a backend.',
  options: [
    { name: 'kills', value: 'N', help: `how often the worker is killed (default ${KILLS_DEFAULT})` },
    { name: 'uploads', value: 'N', help: `how many uploads there are (default ${UPLOADS_DEFAULT})` },
    { name: 'seed', value: 'S', help: 'the seed of the run (default 1)' },
  ],
  run: async (options) => {
    const kills = options.number('kills', 1) ?? KILLS_DEFAULT;
    const uploads = options.number('uploads', 1) ?? UPLOADS_DEFAULT;
    const seed = options.number('seed') ?? 1;
    const folder = await temporaryFolder();
    const report = await runUploadsCrashes({ kills, uploads, seed, folder: folder.path });
    await folder.remove();
    process.stdout.write(`${report.kills} kills, ${uploads} uploads, ${report.calls} calls to the backend\n`);
    for (const problem of report.problems) process.stdout.write(`${problem}\n`);
    return report.problems.length === 0 ? 0 : 1;
  },
};
