import { type Limits, nameProblem, Refusal, type Upload } from '@tidemark/protocol';
import type { Store } from '../ports/store.ts';
import { type AdmittedUpload, admitUpload } from './admit-upload.ts';
import { followLinks, type Links, readLinks } from './follow-links.ts';
import type { UploadTarget } from './upload-target.ts';

/** An upload as it will be decided upon: links followed, and refused already when it can never be applied. */
export type PreparedUpload = {
  readonly opId: string;
  readonly id: string;
  /** The id under which the uploads of this object keep their order. */
  readonly origin: string;
  /** The queue in which the create of the object itself still waits; null: in none. */
  readonly createdIn: string | null;
  /** It refers to another object that the backend has not named yet. */
  readonly waits: boolean;
  /** As the device sent it. */
  readonly given: Upload;
} & (
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
  const links = await readLinks(
    store,
    target,
    prepared.flatMap(({ upload }) => upload ?? []),
  );
  return links.size === 0 ? prepared : prepared.map((upload) => followed(upload, target, links));
}

function prepare({ isReadOnly, source }: UploadTarget, upload: Upload, limits: Limits): PreparedUpload {
  try {
    if (isReadOnly) throw new Refusal('source_read_only', `devices cannot change ${JSON.stringify(source)}`);
    return { ...blank(upload, upload.id), upload: admitUpload(upload, limits), refusal: null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ...blank(upload, tellable(upload.id)), upload: null, refusal: error };
  }
}

function blank(given: Upload, id: string) {
  return { opId: given.op_id, id, origin: id, createdIn: null, waits: false, given };
}

/** What is not a legal id is told only as far as it can be kept. */
function tellable(id: string): string {
  return nameProblem('object', id) === null ? id : id.slice(0, ILLEGAL_ID_UNITS_MAX).toWellFormed();
}

const ILLEGAL_ID_UNITS_MAX = 128;

function followed(prepared: PreparedUpload, target: UploadTarget, links: Links): PreparedUpload {
  if (prepared.refusal !== null) return prepared;
  const { upload, origin, createdIn, waits, refusal } = followLinks(prepared.upload, target, links);
  if (refusal !== null) return { ...prepared, upload: null, refusal };
  return { ...prepared, id: upload.id, origin, createdIn, waits, upload };
}
