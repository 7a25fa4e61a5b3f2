import type { DocumentKey } from '@tidemark/core';
import type { ModelPartition } from '../../model/partition.ts';
import type { DocumentContent, DocumentOwner, Target } from './operation.ts';

// Every writer uses names of its own, so only itself changes its data. No name contains a slash, which separates the
// parts of a fact's key.

export const WRITERS: readonly number[] = [0, 1, 2, 3, 4];
/** The writer that creates what all writers need, and whose device pulls from the shared partition. */
export const SETUP_WRITER = 0;

export const SOURCES: Readonly<Record<Target, string>> = { shared: 'Catalog', own: 'Notes' };

export function loginOf(writer: number): string {
  return `u${writer}`;
}

export function clientOf(writer: number): string {
  return `d${writer}`;
}

/** Returns the partition that a writer's device synchronises. */
export function deviceTarget(writer: number): Target {
  return writer === SETUP_WRITER ? 'shared' : 'own';
}

export function objectId(writer: number, index: number): string {
  return `w${writer}-${index}`;
}

export function metricOf(writer: number, name: string): string {
  return `w${writer}.${name}`;
}

export function partitionOf(writer: number, target: Target): ModelPartition {
  return { source: SOURCES[target], user: target === 'shared' ? null : loginOf(writer) };
}

export function documentOf(writer: number, owner: DocumentOwner, type: DocumentContent['type']): DocumentKey {
  const name = `${type}-${writer}`;
  switch (owner) {
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
