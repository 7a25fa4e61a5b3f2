import { parseJson, Refusal } from '@tidemark/protocol';
import { liveRecord } from '../documents/effect.ts';
import { AttributeTexts } from '../journal/attribute-texts.ts';
import { partitionName } from '../ports/owner.ts';
import type { Note, NoteWrite, PartitionKey, Store } from '../ports/store.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import { asNamedIn } from './translate-upload.ts';
import { type Link, linkText, readLink } from './upload-notes.ts';
import type { UploadTarget } from './upload-target.ts';

/** An upload with the ids that the backend gave, as far as it has named the objects. */
export type LinkedUpload =
  | {
      readonly admitted: AdmittedUpload;
      /** The id by which the uploads of this object are ordered. */
      readonly origin: string;
      /** The queue in which the create of the object still waits; null: in none. */
      readonly createdIn: string | null;
      /** Whether it refers to another object that the backend has not named yet. */
      readonly waits: boolean;
      readonly refusal: null;
    }
  /** It depends on an object whose create was rejected. */
  | { readonly refusal: Refusal };

/** The ids of one partition that uploads name. */
export interface NamedIds {
  readonly partition: PartitionKey;
  readonly ids: Set<string>;
}

/** Links by the partition they belong to, then by id. */
export type Links = ReadonlyMap<string, ReadonlyMap<string, Link>>;

/** The ids under which there may be links: of the objects themselves, and of those their attributes refer to. */
export function namedIds(target: UploadTarget, uploads: readonly AdmittedUpload[]): ReadonlyMap<string, NamedIds> {
  const named = new Map([[partitionName(target.partition), { partition: target.partition, ids: new Set<string>() }]]);
  const add = (partition: PartitionKey, id: string) => {
    const name = partitionName(partition);
    const known = named.get(name) ?? { partition, ids: new Set() };
    named.set(name, known);
    known.ids.add(id);
  };
  for (const upload of uploads) {
    add(target.partition, upload.id);
    for (const { partition, ids } of referencesIn(upload, target)) for (const id of ids) add(partition, id);
  }
  return named;
}

export function linkRefs(ids: Iterable<string>) {
  return Array.from(ids, (key) => ({ kind: 'link', key }) as const);
}

/** Reads the links of all partitions but the target's own, whose notes have been read: `own`. */
export async function readLinks(
  store: Store,
  target: UploadTarget,
  named: ReadonlyMap<string, NamedIds>,
  own: readonly Note[],
): Promise<Links> {
  const links = new Map<string, ReadonlyMap<string, Link>>();
  for (const [name, { partition, ids }] of named) {
    const isOwn = name === partitionName(target.partition);
    const notes = isOwn ? own : await store.readNotes(partition, target.client, linkRefs(ids));
    const known = new Map(notes.map((note) => [note.key, readLink(note)]));
    for (const id of await removeObsolete(store, { ...target, partition }, known)) known.delete(id);
    if (known.size > 0) links.set(name, known);
  }
  return links;
}

/**
 * Removes the links of rejected creates under whose ids there are objects by now, and returns the ids. This happens before
 * the backend is asked, so that an upload that was let through once is not stopped at its next attempt, when the object
 * may be gone again, perhaps by this very upload.
 */
async function removeObsolete(
  store: Store,
  { partition, client, guards }: UploadTarget,
  links: ReadonlyMap<string, Link>,
): Promise<readonly string[]> {
  const rejected = [...links].filter(([, { state }]) => state === 'rejected').map(([id]) => id);
  if (rejected.length === 0) return [];
  const { objects } = await store.readObjects(partition, rejected);
  const live = rejected.filter((id) => liveRecord(objects.get(id)) !== null);
  // After a conflict there is nothing left to do: another request has changed or removed the link.
  for (const key of live) {
    const writes: NoteWrite[] = [{ kind: 'link', key, text: null, expect: linkText({ state: 'rejected' }) }];
    await store.commit({ partition, guards, changes: [], notes: { client, writes, nowMs: NO_NOTE_ENDS } });
  }
  return live;
}

const NO_NOTE_ENDS = 0;

/** Replaces temporary ids by those that the backend gave, in the upload itself and in its references. */
export function followLinks(upload: AdmittedUpload, target: UploadTarget, links: Links): LinkedUpload {
  const own = links.get(partitionName(target.partition))?.get(upload.id);
  if (own?.state === 'rejected' && upload.op !== 'create') return { refusal: dependsOnRejected(upload.id) };
  const referred = referencesIn(upload, target).flatMap(({ partition, ids }) =>
    ids.map((id) => ({ id, link: links.get(partitionName(partition))?.get(id) })),
  );
  const rejected = referred.find(({ link }) => link?.state === 'rejected');
  if (rejected !== undefined) return { refusal: dependsOnRejected(rejected.id) };
  return {
    admitted: {
      ...upload,
      id: own?.state === 'given' ? own.id : upload.id,
      attributes: rewritten(upload, target, links),
    },
    origin: own?.state === 'given' ? own.origin : upload.id,
    createdIn: own?.state === 'pending' && upload.op !== 'create' ? own.queue : null,
    waits: referred.some(({ link }) => link?.state === 'pending'),
    refusal: null,
  };
}

/** The ids of other objects in the attributes that the source declares as references. */
function referencesIn(
  { attributes, version }: AdmittedUpload,
  { references, versions }: UploadTarget,
): readonly { readonly partition: PartitionKey; readonly ids: readonly string[] }[] {
  return [...asNamedIn(references, versions, version)].flatMap(([attribute, partition]) => {
    const text = attributes.get(attribute);
    return text === undefined ? [] : [{ partition, ids: idsIn(text) }];
  });
}

/** A reference is an id or a list of ids. */
function idsIn(text: string): readonly string[] {
  const value: unknown = parseJson(text);
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function rewritten(
  { attributes, version }: AdmittedUpload,
  { references, versions }: UploadTarget,
  links: Links,
): AttributeTexts {
  const next = new Map(attributes);
  for (const [attribute, partition] of asNamedIn(references, versions, version)) {
    const text = attributes.get(attribute);
    const known = links.get(partitionName(partition));
    if (text === undefined || known === undefined) continue;
    const renamed = (one: unknown): unknown => {
      const link = typeof one === 'string' ? known.get(one) : undefined;
      return link?.state === 'given' ? link.id : one;
    };
    const value: unknown = parseJson(text);
    if (typeof value === 'string') next.set(attribute, JSON.stringify(renamed(value)));
    else if (Array.isArray(value)) next.set(attribute, JSON.stringify(value.map(renamed)));
  }
  return AttributeTexts.of(next);
}

function dependsOnRejected(id: string): Refusal {
  return new Refusal(
    'dependency_rejected',
    `it depends on the object ${JSON.stringify(id)}, whose creation was rejected`,
  );
}
