import { Refusal } from '@tidemark/protocol';
import { checkOwner } from './examine-page.ts';
import { pullRequest } from './perform-pull.ts';
import { explaining } from './perform-together.ts';
import { tryWrite, type WriteOutcome } from './perform-write.ts';
import { PLACES, type Place, placeKey, USERS } from './place.ts';
import { readPage } from './read-page.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import { possibleBeginnings } from './serialize-writes.ts';
import type { PlannedWrite, Step, Write } from './step.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

/**
 * A user is deleted and made again, while writes for that user are under way. A racing write may come before the end,
 * come too late and be refused, or slip into the new life; but then it must find nothing of the old one there.
 */
export async function recreateUser(world: World, step: Extract<Step, { kind: 'recreate_user' }>): Promise<void> {
  const racing = await resolveAll(world, step.racing);
  const first = (await resolveAll(world, step.first)).map(({ write }) => write);
  const rebirth = async () => {
    await world.subject.deleteUser(step.user);
    await world.createUser(step.user);
    for (const write of first) await world.subject.write(write);
  };
  const [outcomes] = await Promise.all([writeAll(world, racing), rebirth(), pullInVain(world, step.pulls)]);
  for (const place of PLACES.filter(({ user }) => user === step.user)) {
    world.beginLife(place);
    await settleBeginning(world, place, first, lateWrites(racing, outcomes));
  }
  // The user's devices are gone too, also from where they read shared data.
  for (const { spec, place } of world.stations) {
    if (spec.user === step.user) world.tokens.forgetClient(place, spec.client);
  }
}

/** The whole store is emptied. Users are made again afterwards, so no racing write can slip into the new life. */
export async function resetStore(world: World, step: Extract<Step, { kind: 'reset_store' }>): Promise<void> {
  const racing = await resolveAll(world, step.racing);
  await Promise.all([world.subject.reset(), writeAll(world, racing), pullInVain(world, step.pulls)]);
  for (const user of USERS) await world.createUser(user);
  for (const place of PLACES) world.beginLife(place);
}

async function resolveAll(world: World, planned: readonly PlannedWrite[]): Promise<ResolvedWrite[]> {
  const resolved: ResolvedWrite[] = [];
  for (const write of planned) resolved.push(await resolveWrite(world, write));
  return resolved;
}

function writeAll(world: World, writes: readonly ResolvedWrite[]): Promise<WriteOutcome[]> {
  return Promise.all(writes.map(({ write }) => tryWrite(world, write)));
}

/** Nobody can say in which life such a pull is answered, so the answers are lost; but they must be pages of their own. */
async function pullInVain(world: World, devices: readonly number[]): Promise<void> {
  const pulls = devices.map(async (index) => {
    const station = world.station(index);
    const request = pullRequest(station, { token: station.device.token, size: { objectsMax: 3 } });
    try {
      const text = await world.subject.pull(request);
      readPage(text);
      checkOwner({ station, text });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    world.tokens.forgetClient(station.place, station.spec.client);
  });
  await Promise.all(pulls);
}

function lateWrites(racing: readonly ResolvedWrite[], outcomes: readonly WriteOutcome[]): Write[] {
  return racing.filter((_, index) => !(outcomes[index] instanceof Refusal)).map(({ write }) => write);
}

async function settleBeginning(
  world: World,
  place: Place,
  first: readonly Write[],
  late: readonly Write[],
): Promise<void> {
  const here = (writes: readonly Write[]) => writes.filter((write) => placeKey(write.place) === placeKey(place));
  const beginnings = possibleBeginnings(world.oracle.state(place), here(first), here(late));
  const [chosen, ...others] = await explaining(world, place, beginnings);
  if (chosen === undefined) {
    const told = JSON.stringify({ first: here(first), late: here(late) });
    throw new Violation('SIM-1', `${placeKey(place)} begins its new life with something of the old one, after ${told}`);
  }
  world.oracle.advance(place, chosen.slice(1));
  world.oracle.rememberPossible(place, others.flat());
  if (others.length > 0) world.dropQueries(place);
}
