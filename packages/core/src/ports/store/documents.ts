import {
  groupPartition,
  type PartitionKey,
  partitionFrom,
  partitionParts,
  sharedPartition,
  userPartition,
} from '../owner.ts';
import type { Guard, WriteResult } from './entries.ts';

/** Named documents. */
export interface DocumentStore {
  /** The whole document, or only the parts with the given keys. Null when there is no such document. */
  readDocument(key: DocumentKey, parts?: readonly string[]): Promise<StoredDocument | null>;
  writeDocument(write: DocumentWrite): Promise<WriteResult>;
  /** Names of the documents of a scope, sorted. */
  documentNames(scope: DocumentScope): Promise<readonly string[]>;
}

export type DocumentScope =
  | { readonly kind: 'server' }
  | { readonly kind: 'shared'; readonly source: string }
  | { readonly kind: 'user'; readonly source: string; readonly user: string }
  | { readonly kind: 'group'; readonly source: string; readonly group: string }
  | { readonly kind: 'client'; readonly source: string; readonly client: string };

export interface DocumentKey {
  readonly scope: DocumentScope;
  readonly name: string;
}

/**
 * A document is kept in parts, so that appending costs what is appended. A `text` is the concatenation of its parts in
 * the order of their keys; of `objects`, each part is one object: key = id, text = its attributes as a JSON object.
 */
export interface StoredDocument {
  readonly type: DocumentType;
  readonly version: number;
  /** How many parts there are, and how many UTF-16 units of text, however many were asked for. */
  readonly partCount: number;
  readonly units: number;
  readonly parts: ReadonlyMap<string, string>;
}

export type DocumentType = 'text' | 'objects';

export interface DocumentWrite {
  readonly key: DocumentKey;
  readonly type: DocumentType;
  /**
   * True: the parts given become all there is. False: they are added to, or replace, those with the same key; added to
   * a document of the other type, they are a conflict.
   */
  readonly replace: boolean;
  readonly parts: ReadonlyMap<string, string>;
  /** The version the document must have; 0: it must not exist. Absent: not checked. */
  readonly expect?: number;
  readonly guards: readonly Guard[];
}

/** The scope of the documents of a partition. */
export function scopeOf({ source, owner }: PartitionKey): DocumentScope {
  if (owner.kind === 'shared') return { kind: 'shared', source };
  if (owner.kind === 'user') return { kind: 'user', source, user: owner.login };
  return { kind: 'group', source, group: owner.name };
}

/** The partition that has these documents; null for those of the server and of devices. */
export function partitionOf(scope: DocumentScope): PartitionKey | null {
  return scope.kind === 'server' || scope.kind === 'client' ? null : ownerPartition(scope);
}

function ownerPartition(scope: Exclude<DocumentScope, { readonly kind: 'server' | 'client' }>): PartitionKey {
  if (scope.kind === 'shared') return sharedPartition(scope.source);
  return scope.kind === 'user' ? userPartition(scope.source, scope.user) : groupPartition(scope.source, scope.group);
}

/** Returns the names that identify a scope, as all engines order and store them. */
export function scopeParts(scope: DocumentScope): readonly string[] {
  if (scope.kind === 'server') return ['server'];
  return scope.kind === 'client' ? ['client', scope.client, scope.source] : partitionParts(ownerPartition(scope));
}

export function scopeFrom(parts: readonly string[]): DocumentScope {
  const [kind, client = '', source = ''] = parts;
  if (kind === 'server') return { kind };
  return kind === 'client' ? { kind, client, source } : scopeOf(partitionFrom(parts));
}
