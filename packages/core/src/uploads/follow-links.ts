import { parseJson, Refusal } from '@tidemark/protocol';
import type { AttributeTexts } from '../admission/admitted.ts';
import { liveRecord } from '../documents/effect.ts';
import type { NoteRef, NoteWrite, PartitionKey, Store } from '../ports/store.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import { type Link, linkText, readLink } from './link-note.ts';
import type { UploadTarget } from './upload-target.ts';

/** An upload with the ids of the backend in it, as far as they are known. */
export interface LinkedUpload {
  readonly upload: AdmittedUpload;
  /** The id under which the uploads of this object keep their order. */
  readonly origin: string;
  /** The queue in which the create of the object itself still waits; null: in none. */
  readonly createdIn: string | null;
  /** It refers to another object that the backend has not named yet. */
  readonly waits: boolean;
  /** It depends on something that never came to be. */
  readonly refusal: Refusal | null;
}

/** Links by the partition they stand in, then by temporary id. */
export type Links = ReadonlyMap<string, ReadonlyMap<string, Link>>;

/** All links that these uploads may have to follow: of the objects themselves, and of those their attributes name. */
export async function readLinks(
  store: Store,
  target: UploadTarget,
  uploads: readonly AdmittedUpload[],
): Promise<Links> {
  const wanted = new Map<string, { readonly partition: PartitionKey; readonly ids: Set<string> }>();
  const want = (partition: PartitionKey, id: string) => {
    const place = wanted.get(placeOf(partition)) ?? { partition, ids: new Set() };
    wanted.set(placeOf(partition), place);
    place.ids.add(id);
  };
  for (const upload of uploads) {
    want(target.partition, upload.id);
    for (const { partition, ids } of namedIn(upload, target)) for (const id of ids) want(partition, id);
  }
  const links = new Map<string, ReadonlyMap<string, Link>>();
  for (const [place, { partition, ids }] of wanted) {
    const refs = [...ids].map((key): NoteRef => ({ kind: 'link', key }));
    const notes = await store.readNotes(partition, target.client, refs);
    const known = new Map(notes.map((note) => [note.key, readLink(note)]));
    for (const id of await forgetObsolete(store, { ...target, partition }, known)) known.delete(id);
    if (known.size > 0) links.set(place, known);
  }
  return links;
}

/**
 * Forgets rejected creates under whose ids there are objects by now: somebody else's, or pushed since. Returns the ids. The
 * notes are removed before anything is asked of the backend, so that an upload that was let through once is not stopped
 * at its next attempt, when the object may be gone again, perhaps by this very upload.
 */
async function forgetObsolete(
  store: Store,
  { partition, client, guards }: UploadTarget,
  links: ReadonlyMap<string, Link>,
): Promise<readonly string[]> {
  const rejected = [...links].filter(([, { state }]) => state === 'rejected').map(([id]) => id);
  if (rejected.length === 0) return [];
  const { objects } = await store.readObjects(partition, rejected);
  const live = rejected.filter((id) => liveRecord(objects.get(id)) !== null);
  // Where somebody was faster, the link is another one by now, or gone.
  for (const key of live) {
    const writes: NoteWrite[] = [{ kind: 'link', key, text: null, expect: linkText({ state: 'rejected' }) }];
    await store.commit({ partition, guards, changes: [], notes: { client, writes, nowMs: NO_NOTE_ENDS } });
  }
  return live;
}

const NO_NOTE_ENDS = 0;

export function followLinks(upload: AdmittedUpload, target: UploadTarget, links: Links): LinkedUpload {
  const own = links.get(placeOf(target.partition))?.get(upload.id);
  const unchanged = { upload, origin: upload.id, createdIn: null, waits: false, refusal: null };
  if (links.size === 0) return unchanged;
  if (own?.state === 'rejected' && upload.op !== 'create')
    return { ...unchanged, refusal: dependsOnRejected(upload.id) };
  const named = namedIn(upload, target).flatMap(({ partition, ids }) =>
    ids.map((id) => ({ id, link: links.get(placeOf(partition))?.get(id) })),
  );
  const rejected = named.find(({ link }) => link?.state === 'rejected');
  if (rejected !== undefined) return { ...unchanged, refusal: dependsOnRejected(rejected.id) };
  return {
    upload: {
      ...upload,
      id: own?.state === 'given' ? own.id : upload.id,
      attributes: rewritten(upload.attributes, target, links),
    },
    origin: own?.state === 'given' ? own.origin : upload.id,
    createdIn: own?.state === 'pending' && upload.op !== 'create' ? own.queue : null,
    waits: named.some(({ link }) => link?.state === 'pending'),
    refusal: null,
  };
}

/** The ids of other objects that the upload names in attributes its source declares as references. */
function namedIn(
  { attributes }: AdmittedUpload,
  { references }: UploadTarget,
): readonly { readonly partition: PartitionKey; readonly ids: readonly string[] }[] {
  return [...references].flatMap(([attribute, partition]) => {
    const text = attributes.get(attribute);
    return text === undefined ? [] : [{ partition, ids: idsIn(text) }];
  });
}

/** A reference is an id, or a list of them. */
function idsIn(text: string): readonly string[] {
  const value: unknown = parseJson(text);
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function rewritten(attributes: AttributeTexts, { references }: UploadTarget, links: Links): AttributeTexts {
  const next = new Map(attributes);
  for (const [attribute, partition] of references) {
    const text = attributes.get(attribute);
    const known = links.get(placeOf(partition));
    if (text === undefined || known === undefined) continue;
    const renamed = (one: unknown): unknown => {
      const link = typeof one === 'string' ? known.get(one) : undefined;
      return link?.state === 'given' ? link.id : one;
    };
    const value: unknown = parseJson(text);
    if (typeof value === 'string') next.set(attribute, JSON.stringify(renamed(value)));
    else if (Array.isArray(value)) next.set(attribute, JSON.stringify(value.map(renamed)));
  }
  return next;
}

function dependsOnRejected(id: string): Refusal {
  return new Refusal(
    'dependency_rejected',
    `it depends on the object ${JSON.stringify(id)}, whose creation was rejected`,
  );
}

export function placeOf({ source, user }: PartitionKey): string {
  return JSON.stringify([source, user]);
}
