import { deliver, performPull, serve } from './perform-pull.ts';
import { recreateUser, resetStore } from './perform-rebirth.ts';
import { performTogether } from './perform-together.ts';
import { performBadWrite, performWrite } from './perform-write.ts';
import { placeKey } from './place.ts';
import { beginQuery } from './resolve-write.ts';
import type { Step, TokenDamage } from './step.ts';
import type { Station, World } from './world.ts';

/** Copies of itself a device keeps; an older one makes room. */
const COPIES_MAX = 4;

export async function performStep(world: World, step: Step): Promise<void> {
  switch (step.kind) {
    case 'write':
      return performWrite(world, step.write);
    case 'together':
      return performTogether(world, step);
    case 'bad_write':
      return performBadWrite(world, step.write);
    case 'begin_query':
      return world.addQuery(await beginQuery(world, step.place));
    case 'recreate_user':
      return recreateUser(world, step);
    case 'reset_store':
      return resetStore(world, step);
    case 'trim':
      return trimByTidemarks(world, step);
    case 'brutal_trim':
      return trimBrutally(world, step);
    case 'time_passes':
      world.clock.nowMs += step.ms;
      return;
    default:
      return performAtDevice(world, world.station(step.device), step);
  }
}

async function trimByTidemarks(world: World, { place, retentionMs }: Extract<Step, { kind: 'trim' }>): Promise<void> {
  await world.subject.trim(place, retentionMs);
  world.doubtState(place);
  world.tokens.endangerUnseen(place, world.clock.nowMs, retentionMs);
}

async function trimBrutally(world: World, { place, part }: Extract<Step, { kind: 'brutal_trim' }>): Promise<void> {
  const { head } = await world.state(place);
  await world.subject.trimBrutally(place, Math.floor(part * head));
  world.doubtState(place);
  world.tokens.endangerAll(place);
}

async function performAtDevice(world: World, station: Station, step: Extract<Step, { device: number }>): Promise<void> {
  const { device, network, copies } = station;
  switch (step.kind) {
    case 'pull':
      return performPull(world, station, step.sizes);
    case 'send':
      return network.send({ token: device.token, size: step.size }, step.fate);
    case 'serve': {
      const request = network.nextRequest(step.pick);
      if (request !== undefined) network.answer(await serve(world, station, request), step.fate);
      return;
    }
    case 'deliver': {
      const answer = network.nextAnswer(step.pick);
      if (answer !== undefined) deliver(world, station, answer);
      return;
    }
    case 'forget_device':
      return forgetDevice(world, station);
    case 'reinstall':
      return device.reinstall();
    case 'start_over':
      return device.startOver();
    case 'keep_copy':
      copies.push(device.copy());
      copies.splice(0, copies.length - COPIES_MAX);
      return;
    case 'restore_copy': {
      const copy = copies[step.pick % Math.max(1, copies.length)];
      if (copy !== undefined) device.restore(copy);
      return;
    }
    case 'clone':
      return clone(station, world.station(step.from));
    case 'damage_token':
      return device.damageToken(damaged(world, station, step.damage));
  }
}

/** The server loses sight of a device, wherever it syncs; the device itself does not notice. */
async function forgetDevice(world: World, { spec }: Station): Promise<void> {
  await world.subject.forgetClient(spec.user, spec.client);
  for (const other of world.stations) {
    if (other.spec.client === spec.client) world.tokens.forgetClient(other.place, spec.client);
  }
}

/** A device set up from the backup of another one that syncs the same data. */
function clone(station: Station, from: Station): void {
  if (placeKey(station.place) === placeKey(from.place)) station.device.restore(from.device.copy());
}

function damaged(world: World, { device, place }: Station, damage: TokenDamage): string {
  const token = device.token ?? '';
  switch (damage.kind) {
    case 'flip': {
      const at = damage.at % Math.max(1, token.length);
      return `${token.slice(0, at)}${token.charAt(at) === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    }
    case 'cut':
      return token.slice(0, damage.at % Math.max(1, token.length));
    case 'extend':
      return token + damage.text;
    case 'garbage':
      return damage.text;
    case 'foreign': {
      const tokens = world.tokens.foreign(place);
      return tokens[damage.pick % Math.max(1, tokens.length)] ?? 'nothing foreign at hand';
    }
  }
}
