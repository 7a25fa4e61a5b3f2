import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import type { PlantName } from './plants.ts';

// Loaded into the servers of a chaos run by `--import`, before their own code. It sets their clock, and plants bugs.

const { CHAOS_CLOCK_FILE: clockFile, CHAOS_PLANT: plant } = process.env;

/** How long a push that was acknowledged too early waits before it is written, and a torn one before its second half. */
const EARLY_MS = 400;

/** Moves the clock of this process by the milliseconds in the file; SIGUSR2 reads it again. */
function shiftClock(file: string): void {
  const RealDate = Date;
  let offsetMs = 0;
  const read = () => {
    offsetMs = Number(readFileSync(file, 'utf8'));
  };
  const now = () => RealDate.now() + offsetMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  read();
  process.on('SIGUSR2', read);
}

type Classes = Record<string, { readonly prototype: Record<string, unknown> }>;

/** Imports a module of a built package that the package does not export. */
function fromBuilt(path: string): Promise<Classes> {
  return import(new URL(`../../../${path}`, import.meta.url).href);
}

function fromCore(path: string): Promise<Classes> {
  return fromBuilt(`core/dist/${path}`);
}

interface PushCall {
  readonly source: string;
  readonly user_id?: string;
  readonly objects: Readonly<Record<string, unknown>>;
}

type Push = (call: PushCall) => Promise<unknown>;

/** Puts another function in the place of the one that pushes objects. */
async function replacePush(replacement: (push: Push) => Push): Promise<void> {
  const { Objects } = await fromCore('documents/objects.js');
  if (Objects === undefined) throw new Error('the core has no Objects');
  const push = Objects.prototype.push as Push;
  Objects.prototype.push = function (this: unknown, call: PushCall) {
    return replacement((one) => push.call(this, one))(call);
  };
}

/** A push is acknowledged first and written later. */
function acknowledgeBeforeCommit(): Promise<void> {
  return replacePush((push) => async (call) => {
    const written = sleep(EARLY_MS).then(() => push(call));
    written.catch(() => undefined);
    const { source, user_id: user = null } = call;
    // No receipt knows this seq, so only reads can show the bug.
    return { source, user_id: user, changed: 1, unchanged: 0, seq: Number.MAX_SAFE_INTEGER };
  });
}

interface PullAnswer {
  readonly pages: readonly { readonly source: string; readonly group: string | null; readonly page: object }[];
}

/** A pull records the token that it sends as if the device had presented it. */
async function advanceTokenBeforeDelivery(): Promise<void> {
  const { Pulls } = await fromCore('sync/pulls.js');
  if (Pulls === undefined) throw new Error('the core has no Pulls');
  const pull = Pulls.prototype.pull as (device: unknown, call: object) => Promise<PullAnswer>;
  Pulls.prototype.pull = async function (this: unknown, device: unknown, call: object) {
    const answer = await pull.call(this, device, call);
    const tokens = answer.pages.flatMap(({ source, group, page }) =>
      group === null && 'token' in page ? [[source, page.token]] : [],
    );
    if (tokens.length > 0) await pull.call(this, device, { sources: new Map(tokens as [string, string][]) });
    return answer;
  };
}

interface UserGroups {
  readonly groups: readonly string[];
}

/** A user stays in every group that a server has once seen the user in. */
async function keepRevokedGroups(): Promise<void> {
  const { Groups } = await fromCore('sources/groups.js');
  if (Groups === undefined) throw new Error('the core has no Groups');
  const of = Groups.prototype.of as (user: string) => Promise<UserGroups>;
  const known = new Map<string, ReadonlySet<string>>();
  Groups.prototype.of = async function (this: unknown, user: string) {
    const found = await of.call(this, user);
    const all = new Set([...(known.get(user) ?? []), ...found.groups]);
    known.set(user, all);
    const groups = [...all].sort();
    return { ...found, groups, owners: groups.map((name) => ({ kind: 'group', name })) };
  };
}

/** A push of several objects is written in two commits. */
function tearBatches(): Promise<void> {
  return replacePush((push) => async (call) => {
    const [first, ...rest] = Object.entries(call.objects);
    if (first === undefined || rest.length === 0) return push(call);
    await push({ ...call, objects: Object.fromEntries([first]) });
    await sleep(EARLY_MS);
    return push({ ...call, objects: Object.fromEntries(rest) });
  });
}

type Attempt = (window: readonly [number, number]) => Promise<unknown>;

/** Writes to Valkey have no deadline: one that was refused is applied whenever its connection delivers it. */
async function applyLateWrites(): Promise<void> {
  const { StoreClock } = await fromBuilt('store-valkey/dist/store-clock.js');
  if (StoreClock === undefined) throw new Error('the store has no StoreClock');
  StoreClock.prototype.within = (_endMs: number, attempt: Attempt) => attempt([0, Number.MAX_SAFE_INTEGER]);
}

/** A server queries although another one holds the lease for it. */
async function ignoreLeases(): Promise<void> {
  const { RefreshLeases } = await fromCore('refresh/refresh-leases.js');
  if (RefreshLeases === undefined) throw new Error('the core has no RefreshLeases');
  RefreshLeases.prototype.isLeased = () => false;
}

const PLANTS: Readonly<Record<PlantName, () => Promise<void>>> = {
  'ack-before-commit': acknowledgeBeforeCommit,
  'token-before-delivery': advanceTokenBeforeDelivery,
  'revoked-group': keepRevokedGroups,
  'torn-batch': tearBatches,
  'late-write': applyLateWrites,
  'ignored-lease': ignoreLeases,
};

if (isMainThread) {
  if (clockFile !== undefined) shiftClock(clockFile);
  if (plant !== undefined) await PLANTS[plant as PlantName]();
}
