import type { DocumentKey, PartitionKey } from '@tidemark/core';
import type { DocumentContent, DocumentRoom, Room } from './operation.ts';

// Every writer has names of its own, so that whatever it finds changed was changed by itself. None contains a slash,
// which separates the parts of a fact's key.

export const WRITERS: readonly number[] = [0, 1, 2, 3, 4];
/** The writer who sets up what all need, and whose device watches the shared partition. */
export const KEEPER = 0;

export const SOURCES: Readonly<Record<Room, string>> = { shared: 'Catalog', own: 'Notes' };

export function loginOf(writer: number): string {
  return `u${writer}`;
}

export function clientOf(writer: number): string {
  return `d${writer}`;
}

/** The partition a writer's device synchronises. */
export function deviceRoom(writer: number): Room {
  return writer === KEEPER ? 'shared' : 'own';
}

export function objectId(writer: number, index: number): string {
  return `w${writer}-${index}`;
}

export function metricOf(writer: number, name: string): string {
  return `w${writer}.${name}`;
}

export function partitionOf(writer: number, room: Room): PartitionKey {
  return { source: SOURCES[room], user: room === 'shared' ? null : loginOf(writer) };
}

export function documentOf(writer: number, where: DocumentRoom, type: DocumentContent['type']): DocumentKey {
  const name = `${type}-${writer}`;
  switch (where) {
    case 'server':
      return { scope: { kind: 'server' }, name };
    case 'shared':
      return { scope: { kind: 'shared', source: SOURCES.shared }, name };
    case 'user':
      return { scope: { kind: 'user', source: SOURCES.own, user: loginOf(writer) }, name };
    case 'client':
      return { scope: { kind: 'client', source: SOURCES.own, client: clientOf(writer) }, name };
  }
}
