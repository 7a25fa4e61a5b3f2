import { isDeepStrictEqual } from 'node:util';
import { drawUploadHistory } from './draw-history.ts';
import { MdWatch, objectsOf } from './md-watch.ts';
import type { UploadPlant } from './planted-bugs.ts';
import { type Space, sourceAt, spaceKey, spaceOf, type UploadDeed, type UploadHistory, USERS } from './step.ts';
import { type UploadRule, UploadViolation } from './violation.ts';
import { World } from './world.ts';

const STEP_MS = 1_000;
const ROUND_MS = 600_000;
/** Enough for every job, and every wait after failed refreshes. */
const ROUNDS_MAX = 40;
const HOLDS_MAX = 1_000;
const JOBS_PER_ROUND = 20;
const CALM = { down: 0, lost: 0, heldBefore: 0, heldAfter: 0 };

/** A history the server did not survive. */
export class UploadFailure extends Error {
  override readonly name = 'UploadFailure';
  readonly seed: number;
  /** Counted from 1; one more than there are steps: something was wrong at the end. */
  readonly stepNumber: number;
  /** Null: not a broken rule but an error nobody expected. */
  readonly rule: UploadRule | null;

  constructor(history: UploadHistory, stepNumber: number, cause: unknown) {
    const what = history.steps[stepNumber - 1]?.kind ?? 'the end';
    const detail =
      cause instanceof UploadViolation ? cause.message : cause instanceof Error ? cause.stack : String(cause);
    const replay = `npm run sim:uploads -- --seed ${history.seed}`;
    super(
      `seed ${history.seed}, step ${stepNumber} of ${history.steps.length} (${what}): ${detail}\n  replay: ${replay}`,
    );
    this.seed = history.seed;
    this.stepNumber = stepNumber;
    this.rule = cause instanceof UploadViolation ? cause.rule : null;
  }
}

/** Runs one history on a new server. Returns the first thing that is wrong; null: the history held. */
export async function findUploadFailure(
  history: UploadHistory,
  plant: UploadPlant = {},
): Promise<UploadFailure | null> {
  const world = new World(history, plant);
  const watch = new MdWatch(world);
  try {
    await world.open();
    for (const step of history.steps) {
      world.ledger.step++;
      world.clock.ms += STEP_MS;
      await world.during(step.jitter, () => perform(world, step));
      await check(world, watch);
    }
    world.ledger.step++;
    await settle(world, watch);
    await compareWithOffice(world);
    return null;
  } catch (error) {
    return new UploadFailure(history, world.ledger.step, error);
  }
}

/** The first failure among the histories of the seeds; null: all of them held. */
export async function tryUploadHistories(
  seeds: Iterable<number>,
  onHistory: (count: number) => void = () => undefined,
): Promise<UploadFailure | null> {
  let count = 0;
  for (const seed of seeds) {
    const failure = await findUploadFailure(drawUploadHistory(seed));
    if (failure !== null) return failure;
    onHistory(++count);
  }
  return null;
}

export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield first + index;
}

async function check({ ledger }: World, watch: MdWatch): Promise<void> {
  await watch.look();
  const [violation] = ledger.violations;
  if (violation !== undefined) throw violation;
}

async function perform(world: World, deed: UploadDeed): Promise<void> {
  const device = 'device' in deed ? world.devices[deed.device % world.devices.length] : undefined;
  switch (deed.kind) {
    case 'edit':
      return device?.edit(deed);
    case 'push':
      return device && world.push(device, deed.times, deed.acknowledges);
    case 'pull':
      return device && world.pull(device, deed.acknowledges);
    case 'weather':
      world.office.weather = deed.weather;
      return;
    case 'release':
      return world.office.release(deed.pick, deed.isAnswered);
    case 'run_jobs':
      return world.runJobs(deed.count);
    case 'time_passes':
      world.clock.ms += deed.ms;
      return;
    case 'office_edit':
      return editInOffice(world, deed);
    case 'replace_user':
      return world.replaceUser(userAt(deed.user));
    case 'crash':
      return world.crash();
  }
}

async function editInOffice(
  { office, ledger }: World,
  { source, user, pick, op, isPushed }: Extract<UploadDeed, { kind: 'office_edit' }>,
): Promise<void> {
  const space = spaceOf(sourceAt(source).name, userAt(user));
  const number = ledger.nextNumber();
  const ids = [...office.objects(space).keys()];
  const id = op === 'make' ? `k${pick % 2}` : ids[pick % Math.max(1, ids.length)];
  if (id === undefined) return;
  const attributes = op === 'delete' ? null : { office: ledger.value(space.user, number) };
  await office.edit(space, id, attributes, isPushed);
}

function userAt(pick: number): string {
  return USERS[pick % USERS.length] ?? USERS[0];
}

/** Nothing goes wrong any more: every device gets rid of its uploads and is told what became of all of them. */
async function settle(world: World, watch: MdWatch): Promise<void> {
  world.office.weather = CALM;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    world.clock.ms += ROUND_MS;
    for (let held = 0; world.office.heldCount > 0 && held < HOLDS_MAX; held++) {
      await world.during(0, () => world.office.release(0, true));
    }
    for (const device of world.devices) {
      if (device.outbox.length > 0) await world.during(0, () => world.push(device, 1, false));
    }
    await world.during(0, () => world.runJobs(JOBS_PER_ROUND));
    for (const device of world.devices) await world.during(0, () => world.pull(device, true));
    await check(world, watch);
    if (world.office.heldCount === 0 && (await world.jobsLeft()) === 0 && openOf(world).length === 0) return;
  }
  const left = `${await world.jobsLeft()} jobs, no outcome of ${openOf(world).join(', ') || 'none'}`;
  throw new UploadViolation('UPSIM-1', `uploads do not come to an end: ${left}`);
}

function openOf({ devices }: World): readonly string[] {
  return devices.flatMap(({ open }) => open.map(({ upload }) => upload.op_id));
}

/** After one more refresh, md is what the office has. */
async function compareWithOffice(world: World): Promise<void> {
  world.clock.ms += ROUND_MS;
  for (const device of world.devices) await world.during(0, () => world.pull(device, true));
  for (const space of world.spaces) {
    if (!isPulled(world, space)) continue;
    const md = Object.fromEntries(await objectsOf(world, space));
    const office = Object.fromEntries(world.office.objects(space));
    if (isDeepStrictEqual(plain(md), plain(office))) continue;
    const detail = `md of ${spaceKey(space)} is ${JSON.stringify(md)}, the office has ${JSON.stringify(office)}`;
    throw new UploadViolation('UPSIM-5', detail);
  }
  const [violation] = world.ledger.violations;
  if (violation !== undefined) throw violation;
}

function isPulled({ devices }: World, { user }: Space): boolean {
  return user === null || devices.some((device) => device.user === user);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
