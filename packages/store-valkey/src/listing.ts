import type { PartitionKey } from '@tidemark/core/ports';
import { doomsOf } from './guards.ts';
import {
  exclusive,
  inclusive,
  keyOf,
  type Place,
  partitionAt,
  placeFrom,
  placeMember,
  placeOf,
  textsOf,
} from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listOf, textOf } from './reply.ts';
import { listPlacesScript } from './scripts/registry.ts';

/** Places looked at in one step. */
const PLACES_PER_READ = 500;

interface Listed {
  readonly place: Place;
  readonly member: string;
}

/**
 * Partitions in the order of their places. The registry knows every place that something could be at; which of them are
 * partitions is asked of each.
 */
export async function listPartitions(
  link: Link,
  layout: Layout,
  after: PartitionKey | undefined,
  limit: number,
): Promise<readonly PartitionKey[]> {
  const found: PartitionKey[] = [];
  // Places of clients and of the server come before those that are partitions, or are none.
  let from = after === undefined ? inclusive(keyOf('shared')) : exclusive(placeMember(placeOf(after)));
  for (;;) {
    const [members, dooms, epoch] = listOf(await link.run(listPlacesScript, layout.registry, [from, PLACES_PER_READ]));
    const listed = listOf(members).map((member) => {
      return { member: textOf(member), place: placeFrom(textsOf(textOf(member))) };
    });
    const doomed = new Set(listOf(dooms).map((field) => textOf(field)));
    const candidates = listed.filter(({ place }) => !isDoomed(place, doomed));
    const isThere = await Promise.all(candidates.map(({ place }) => isPartition(link, layout, place, textOf(epoch))));
    found.push(...candidates.filter((_, index) => isThere[index]).flatMap(({ place }) => partitionAt(place) ?? []));
    const last: Listed | undefined = listed.at(-1);
    if (found.length >= limit || listed.length < PLACES_PER_READ || last === undefined) return found.slice(0, limit);
    from = exclusive(last.member);
  }
}

function isDoomed(place: Place, doomed: ReadonlySet<string>): boolean {
  return doomed.size > 0 && doomsOf(place).some((field) => doomed.has(field));
}

async function isPartition(link: Link, layout: Layout, place: Place, epoch: string): Promise<boolean> {
  if (partitionAt(place) === null) return false;
  const [state] = layout.place(place).some(['state']);
  if (state === undefined) throw new Error('a place has keys');
  const [life, head] = listOf(await link.command('HMGET', state, 'e', 'h'));
  return head !== null && life !== null && textOf(life) === epoch;
}
