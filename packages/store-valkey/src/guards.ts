import type { EntryRef, Guard } from '@tidemark/core/ports';
import { clientMember, keyOf, type Place, placeMember, sourceMember } from './keys.ts';
import { listArgs } from './lists.ts';
import type { Argument } from './wire.ts';

/** The field of an entry. */
export function entryField({ kind, key }: EntryRef): string {
  return keyOf(kind, ...key);
}

export function guardArgs(guards: readonly Guard[]): Argument[] {
  return listArgs(guards.flatMap((guard) => [entryField(guard), guard.version ?? '']));
}

/** What erasures are called: of a user, a client or a source, or of everything. */
export const EVERYTHING = keyOf('everything');

export function doomOf(kind: 'user' | 'client' | 'source', name: string): string {
  return keyOf(kind, name);
}

/** The erasures that concern a place, and a client's traces at it. */
export function doomsOf(place: Place, client: string | null = null): string[] {
  return [
    EVERYTHING,
    ...(place.kind === 'user' ? [doomOf('user', place.user)] : []),
    ...(place.kind === 'client' ? [doomOf('client', place.client)] : []),
    ...(place.kind === 'server' ? [] : [doomOf('source', place.source)]),
    ...(client === null ? [] : [doomOf('client', client)]),
  ];
}

/** The members under which a place is enrolled. */
export function memberArgs(place: Place, client: string | null): Argument[] {
  return [placeMember(place), sourceMember(place) ?? '', client === null ? '' : clientMember(client, place)];
}
