import { storeEpoch } from './facts.ts';
import { doomsOf } from './guards.ts';
import { type Place, placeMember, sourceMember } from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { listOf, numberOf, textOf } from './reply.ts';
import { TICKET_MS } from './scripts/admission.ts';
import { auditScript, discardPlaceScript } from './scripts/registry.ts';
import type { Argument, Reply } from './wire.ts';

/** Pages of keys after which is looked whether another server has finished the same audit. */
const PAGES_PER_LOOK = 100;

/**
 * Makes the list of places complete after a failover in a cluster. The registry may have lost that a place was enrolled,
 * and an erasure would then miss it; a place may have lost that it was erased. Either leaves another history of
 * replication at some primary. When the histories are not those of the last audit, all places are looked up by their keys:
 * one whose owner was erased since it was last written to is emptied, any other is enrolled.
 *
 * What the lost registry had admitted may still arrive for as long as a ticket is good, so there is a second audit after
 * that time. Once `isSpent` it is broken off.
 */
export async function auditPlaces(link: Link, layout: Layout, isSpent: () => boolean = () => false): Promise<void> {
  if (link.isOneNode) return;
  const histories = await historiesOf(link);
  const facts = layout.registryKey('facts');
  const reply = listOf(await link.command('HMGET', facts, 'audited', 'audited_us', 'settled'));
  const [audited, auditedUs, settled] = reply.map((fact) => (fact === null ? '' : textOf(fact)));
  if (settled === histories) return;
  const startUs = numberOf(listOf(await link.write(auditScript, layout.registry, [0]))[0]);
  const isSecond = audited === histories;
  if (isSecond && Math.abs(startUs - Number(auditedUs)) < TICKET_MS * 1_000) return;
  const isDone = async () =>
    isSpent() || (await link.command('HGET', facts, isSecond ? 'settled' : 'audited'))?.toString() === histories;
  if (!(await lookThrough(link, layout, isDone))) return;
  const done = isSecond ? ['settled', histories] : ['audited', histories, 'audited_us', startUs];
  await link.command('HSET', facts, ...done);
}

/** The ids of the primaries' histories: each changes with every restart and promotion, the moments at which writes are lost. */
async function historiesOf(link: Link): Promise<string> {
  const infos = await link.everywhere('INFO', 'replication');
  return infos
    .map((info) => /master_replid:(\w+)/.exec(textOf(info))?.[1]?.slice(0, 10) ?? '?')
    .sort()
    .join(',');
}

/** False: another server was faster. */
async function lookThrough(link: Link, layout: Layout, isDone: () => Promise<boolean>): Promise<boolean> {
  const epoch = await storeEpoch(link, layout);
  let pages = 0;
  for await (const keys of link.scan(layout.prefix)) {
    await lookAt(link, layout, epoch, keys);
    if (++pages % PAGES_PER_LOOK === 0 && (await isDone())) return false;
  }
  return true;
}

async function lookAt(link: Link, layout: Layout, epoch: string, keys: readonly string[]): Promise<void> {
  const found = await Promise.all(
    keys.map(async (key) => {
      const place = layout.placeWith('state', key);
      if (place === null) return [];
      const [life, version] = listOf(await link.command('HMGET', key, 'e', 'v'));
      // What is of another life reads as empty.
      return life?.toString() === epoch ? [{ place, version: version?.toString() ?? '0' }] : [];
    }),
  );
  const places = found.flat();
  if (places.length === 0) return;
  const args = places.flatMap(({ place, version }) => placeArgs(place, version));
  const [, ...erased] = listOf(await link.write(auditScript, layout.registry, [places.length, ...args]));
  for (let index = 0; index < erased.length; index += 2) {
    const place = places[numberOf(erased[index]) - 1]?.place;
    if (place !== undefined) await discard(link, layout, place, erased[index + 1]);
  }
}

function placeArgs(place: Place, version: string): readonly Argument[] {
  return [placeMember(place), sourceMember(place) ?? '', version, ...listArgs(doomsOf(place))];
}

async function discard(link: Link, layout: Layout, place: Place, version: Reply | undefined): Promise<void> {
  await link.write(discardPlaceScript, layout.place(place).some(discardPlaceScript.keys), [textOf(version)]);
}
