import { type Limits, nameProblem, Refusal, type Upload } from '@tidemark/protocol';
import { partitionName } from '../ports/owner.ts';
import type { Note, NoteKind, NoteRef, Store } from '../ports/store.ts';
import { type AdmittedUpload, admitUpload } from './admit-upload.ts';
import { followLinks, type Links, linkRefs, namedIds, readLinks } from './follow-links.ts';
import { outcomeRefs } from './upload-notes.ts';
import type { UploadTarget } from './upload-target.ts';

/** What the store remembers of an upload and its object. Writes expect these notes, so that stale ones are a conflict. */
export interface UploadNotes {
  /** What became of the upload before, of the kind `outcome` or `settled`; null: it is new. */
  readonly note: Note | null;
  /** What this device has written to the object itself; null: nothing, or the source does not detect conflicts. */
  readonly footprint: Note | null;
}

/** An upload with all that is known of it before it is decided. */
export type PreparedUpload = UploadNotes & {
  readonly opId: string;
  /** The id the object has now. */
  readonly id: string;
  /** The id by which the uploads of this object are ordered: that of its create. */
  readonly origin: string;
  /** The queue in which the create of the object itself still waits; null: in none. */
  readonly createdIn: string | null;
  /** Whether it refers to another object that the backend has not named yet. */
  readonly waits: boolean;
  /** The link of the object under the id that the device uses. */
  readonly link: Note | null;
  /** The upload as the device sent it. */
  readonly given: Upload;
} & (
    | { readonly admitted: AdmittedUpload; readonly refusal: null }
    /** It can never be applied. */
    | { readonly admitted: null; readonly refusal: Refusal }
  );

/** Checks uploads, reads what the store remembers of them, and follows the links of temporary ids. */
export async function prepareUploads(
  { store, limits }: { readonly store: Store; readonly limits: Limits },
  target: UploadTarget,
  uploads: readonly Upload[],
): Promise<readonly PreparedUpload[]> {
  const checked = uploads.map((upload) => check(target, upload, limits));
  const named = namedIds(
    target,
    checked.flatMap(({ admitted }) => admitted ?? []),
  );
  const refs = [
    ...checked.flatMap((upload) => refsOf(target, upload)),
    ...linkRefs(named.get(partitionName(target.partition))?.ids ?? []),
  ];
  const notes = indexed(await store.readNotes(target.partition, target.client, refs));
  const links = await readLinks(store, target, named, notes.ofKind('link'));
  const prepared = checked.map((upload) => withNotes(upload, notes));
  if (links.size === 0) return prepared;
  return withFootprints(store, target, {
    before: prepared,
    after: prepared.map((upload) => followed(upload, target, links, notes)),
  });
}

/** Prepares the same uploads again. */
export function prepareAgain(
  ports: { readonly store: Store; readonly limits: Limits },
  target: UploadTarget,
  uploads: readonly PreparedUpload[],
): Promise<readonly PreparedUpload[]> {
  return prepareUploads(
    ports,
    target,
    uploads.map(({ given }) => given),
  );
}

/** The same uploads with the notes that the store has by now. Links are not followed again. */
export async function rereadNotes(
  store: Store,
  target: UploadTarget,
  uploads: readonly PreparedUpload[],
): Promise<readonly PreparedUpload[]> {
  const refs = uploads.flatMap((upload) => refsOf(target, upload));
  const notes = indexed(await store.readNotes(target.partition, target.client, refs));
  return uploads.map((upload) => withNotes(upload, notes));
}

export async function rereadUpload<T extends PreparedUpload>(
  store: Store,
  target: UploadTarget,
  upload: T,
): Promise<T> {
  const [current] = await rereadNotes(store, target, [upload]);
  return current as T;
}

/** An upload that occurs twice in a call is the same upload. */
export function firstOfEach(uploads: readonly Upload[]): readonly Upload[] {
  const seen = new Set<string>();
  return uploads.filter(({ op_id }) => !seen.has(op_id) && seen.add(op_id));
}

function check({ isReadOnly, source }: UploadTarget, given: Upload, limits: Limits): PreparedUpload {
  const unknown = { opId: given.op_id, createdIn: null, waits: false, link: null, note: null, footprint: null, given };
  try {
    if (isReadOnly) throw new Refusal('source_read_only', `devices cannot change ${JSON.stringify(source)}`);
    return { ...unknown, id: given.id, origin: given.id, admitted: admitUpload(given, limits), refusal: null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const id = storableId(given.id);
    return { ...unknown, id, origin: id, admitted: null, refusal: error };
  }
}

const ILLEGAL_ID_UNITS_MAX = 128;

/** Cuts an illegal id to what can be stored in an outcome. */
function storableId(id: string): string {
  return nameProblem('object', id) === null ? id : id.slice(0, ILLEGAL_ID_UNITS_MAX).toWellFormed();
}

function refsOf({ conflicts }: UploadTarget, { opId, id, refusal }: PreparedUpload): readonly NoteRef[] {
  const hasFootprint = conflicts === 'detect' && refusal === null;
  return [...outcomeRefs(opId), ...(hasFootprint ? [{ kind: 'footprint', key: id } as const] : [])];
}

interface NoteIndex {
  find(kind: NoteKind, key: string): Note | null;
  ofKind(kind: NoteKind): readonly Note[];
}

function indexed(notes: readonly Note[]): NoteIndex {
  const byRef = new Map(notes.map((note) => [`${note.kind} ${note.key}`, note]));
  return {
    find: (kind, key) => byRef.get(`${kind} ${key}`) ?? null,
    ofKind: (kind) => notes.filter((note) => note.kind === kind),
  };
}

function withNotes(upload: PreparedUpload, notes: NoteIndex): PreparedUpload {
  const { opId, id } = upload;
  const note = notes.find('outcome', opId) ?? notes.find('settled', opId);
  return { ...upload, note, footprint: notes.find('footprint', id) };
}

function followed(prepared: PreparedUpload, target: UploadTarget, links: Links, notes: NoteIndex): PreparedUpload {
  if (prepared.refusal !== null) return prepared;
  const linked = followLinks(prepared.admitted, target, links);
  if (linked.refusal !== null) return { ...prepared, admitted: null, refusal: linked.refusal };
  const isLinked = links.get(partitionName(target.partition))?.has(prepared.given.id) === true;
  const link = isLinked ? notes.find('link', prepared.given.id) : null;
  return { ...prepared, ...linked, id: linked.admitted.id, link };
}

/** Footprints belong to the ids that objects have now, which are known only after their links were followed. */
async function withFootprints(
  store: Store,
  target: UploadTarget,
  { before, after }: Record<'before' | 'after', readonly PreparedUpload[]>,
): Promise<readonly PreparedUpload[]> {
  const isRenamed = after.some(({ id }, index) => id !== before[index]?.id);
  return target.conflicts === 'detect' && isRenamed ? rereadNotes(store, target, after) : after;
}
