import { type Limits, nameProblem, Refusal, type Upload } from '@tidemark/protocol';
import type { NoteRef, Store } from '../ports/store.ts';
import { type AdmittedUpload, admitUpload } from './admit-upload.ts';
import type { UploadTarget } from './upload-target.ts';

/** An upload as it will be decided upon: links followed, and refused already when it can never be applied. */
export type PreparedUpload = { readonly opId: string; readonly id: string } & (
  | { readonly upload: AdmittedUpload; readonly refusal: null }
  | { readonly upload: null; readonly refusal: Refusal }
);

export async function prepareUploads(
  store: Store,
  target: UploadTarget,
  uploads: readonly Upload[],
  limits: Limits,
): Promise<readonly PreparedUpload[]> {
  const prepared = uploads.map((upload) => prepare(target, upload, limits));
  const links = await linksOf(store, target, prepared);
  return links.size === 0 ? prepared : prepared.map((upload) => followed(upload, links));
}

function prepare({ isReadOnly, source }: UploadTarget, upload: Upload, limits: Limits): PreparedUpload {
  const { op_id: opId } = upload;
  try {
    if (isReadOnly) throw new Refusal('source_read_only', `devices cannot change ${JSON.stringify(source)}`);
    return { opId, id: upload.id, upload: admitUpload(upload, limits), refusal: null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { opId, id: tellable(upload.id), upload: null, refusal: error };
  }
}

/** What is not a legal id is told only as far as it can be kept. */
function tellable(id: string): string {
  return nameProblem('object', id) === null ? id : id.slice(0, ILLEGAL_ID_UNITS_MAX).toWellFormed();
}

const ILLEGAL_ID_UNITS_MAX = 128;

/** Temporary id → the id the backend has given, for as many of the ids as there is one. */
async function linksOf(
  store: Store,
  { partition, client }: UploadTarget,
  prepared: readonly PreparedUpload[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(prepared.filter(({ refusal }) => refusal === null).map(({ id }) => id));
  if (ids.size === 0) return new Map();
  const refs = [...ids].map((key): NoteRef => ({ kind: 'link', key }));
  const notes = await store.readNotes(partition, client, refs);
  return new Map(notes.map(({ key, text }) => [key, text]));
}

function followed(prepared: PreparedUpload, links: ReadonlyMap<string, string>): PreparedUpload {
  const id = links.get(prepared.id);
  if (id === undefined || prepared.refusal !== null) return prepared;
  return { ...prepared, id, upload: { ...prepared.upload, id } };
}
