import type { Erasure } from '@tidemark/core/ports';
import { auditPlaces } from './audit.ts';
import { unavailable } from './failure.ts';
import { doomOf, EVERYTHING } from './guards.ts';
import { emptyQueueScript } from './jobs/queue-scripts.ts';
import { keyOf, membersFrom, type Place, placeFrom, placeMember, sourceMember, textsOf } from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { listOf, textOf } from './reply.ts';
import { forgetClientScript } from './scripts/devices.ts';
import { erasePlaceScript, sweepScript, sweptScript } from './scripts/registry.ts';
import { markRange } from './tidemarks.ts';
import type { Argument, Reply } from './wire.ts';

/** The dooms that an erasure means. */
export function doomsIn({ users = [], clients = [], sources = [] }: Erasure): string[] {
  return [
    ...users.map((user) => doomOf('user', user)),
    ...clients.map((client) => doomOf('client', client)),
    ...sources.map((source) => doomOf('source', source)),
  ];
}

/**
 * Erasing is done in two steps that anybody can finish. The registry first notes what is doomed, together with the
 * entries that go; from then on nothing new is admitted there. Then every place concerned is erased and fenced, and when
 * none is left the doom is lifted. Whoever meets a doom, after a crash for example, carries it out before going on.
 */
export async function carryOut(link: Link, layout: Layout, doom: string): Promise<void> {
  if (doom === EVERYTHING) {
    const version = await link.command('HGET', layout.registryKey('doomed'), doom);
    if (version !== null) await emptyQueues(link, layout, textOf(version));
  }
  // What belongs to a client has an id of its own, and what belongs to another life reads as empty.
  const isNameReused = ['user', 'source'].includes(textsOf(doom)[0] ?? '');
  if (isNameReused) await auditPlaces(link, layout);
  for (let inVain = 0; inVain < ATTEMPTS_MAX; ) {
    const reply = listOf(await link.write(sweepScript, layout.registry, [doom, ...rangeArgs(doom)]));
    if (textOf(reply[0]) === 'done') return;
    inVain = (await sweep(link, layout, doom, reply)) ? 0 : inVain + 1;
  }
  throw unavailable('an erasure could not be finished');
}

/** Sweeps in a row that get nowhere, because others are erasing the same or a place does not take the order. */
const ATTEMPTS_MAX = 20;

/** An order to erase: what it is about, and its version and moment as the registry said them. */
interface Order {
  readonly doom: string;
  readonly version: string;
  readonly atUs: string;
}

/** Jobs go with everything. Those enqueued since another has carried the same doom out stay. */
async function emptyQueues(link: Link, layout: Layout, version: string): Promise<void> {
  const names = listOf(await link.command('ZRANGE', layout.queues, 0, -1)).map((name) => textOf(name));
  await Promise.all(names.map((name) => link.write(emptyQueueScript, layout.queue(name), [0, version])));
}

/** False: nothing could be struck off. */
async function sweep(link: Link, layout: Layout, doom: string, reply: readonly Reply[]): Promise<boolean> {
  const version = textOf(reply[1]);
  const order: Order = { doom, version, atUs: textOf(reply[2]) };
  const bySource = textsOf(doom)[0] === 'source';
  const places = listOf(reply[3]).map((member) => placeFrom(textsOf(textOf(member)).slice(bySource ? 1 : 0)));
  const traces = listOf(reply[4]).map((member) => textOf(member));
  const replies = await Promise.all([
    ...places.map((place) => carryTo(link, layout, order, (at) => erasePlace(link, layout, place, at))),
    ...traces.map((member) => carryTo(link, layout, order, (at) => forgetClient(link, layout, member, at))),
  ]);
  // The order is not what it was any more: it must be read again before anything is struck off.
  if (replies.includes('stale')) return false;
  await link.write(sweptScript, layout.registry, [
    ...[doom, version],
    ...listArgs(places.map(placeMember)),
    ...listArgs(places.flatMap((place) => sourceMember(place) ?? [])),
    ...listArgs(traces),
  ]);
  return true;
}

/**
 * Brings an order to a place. A place that finds it too old tells the moment by its own clock, which may differ from that
 * of the registry: if the order still stands after that moment, it is given anew with it.
 */
async function carryTo(
  link: Link,
  layout: Layout,
  { doom, version, atUs }: Order,
  give: (order: readonly Argument[]) => Promise<readonly Reply[]>,
): Promise<string> {
  const first = await give([version, atUs]);
  if (textOf(first[0]) !== 'stale') return textOf(first[0]);
  const standing = await link.command('HGET', layout.registryKey('doomed'), doom);
  if (standing === null || textOf(standing) !== version) return 'stale';
  return textOf((await give([version, textOf(first[1])]))[0]);
}

async function erasePlace(
  link: Link,
  layout: Layout,
  place: Place,
  order: readonly Argument[],
): Promise<readonly Reply[]> {
  return listOf(await link.write(erasePlaceScript, layout.place(place).some(erasePlaceScript.keys), order));
}

async function forgetClient(
  link: Link,
  layout: Layout,
  member: string,
  order: readonly Argument[],
): Promise<readonly Reply[]> {
  const [client = '', ...parts] = textsOf(member);
  const place: Place = placeFrom(parts);
  const keys = layout.place(place);
  const marks = markRange(client);
  const notes = membersFrom(keyOf(client));
  const args = [...order, marks.min, marks.max, notes.min, notes.max];
  for (;;) {
    const all = [...keys.some(forgetClientScript.keys), keys.clientFence(client)];
    const reply = listOf(await link.write(forgetClientScript, all, args));
    if (textOf(reply[0]) !== 'more') return reply;
  }
}

/** Where the places of a doom stand: a range of places by owner or by source, and one of the traces of a client. */
function rangeArgs(doom: string): readonly Argument[] {
  if (doom === EVERYTHING) return ['places', '-', '+', '', '', ''];
  const [kind, name = ''] = textsOf(doom);
  const owned = kind === 'source' ? membersFrom(keyOf(name)) : membersFrom(keyOf(kind ?? '', name));
  const traces = membersFrom(keyOf(name));
  return [
    ...[kind === 'source' ? 'sources' : 'places', owned.min, owned.max],
    ...(kind === 'client' ? ['1', traces.min, traces.max] : ['', '', '']),
  ];
}
