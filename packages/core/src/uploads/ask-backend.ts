import { errorMessage, type JsonValue, type PartialError, parseJson, Refusal } from '@tidemark/protocol';
import type { ObjectRecord } from '../journal/record.ts';
import { type Adapter, AdapterRefusal, type DeleteCall, LoggedFailure } from '../ports/adapter.ts';
import { groupOf } from '../ports/owner.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import type { UploadTarget } from './upload-target.ts';

/** The backend gave no answer that can be relied on, so it must be asked again. */
export interface BackendTrouble {
  readonly kind: 'trouble';
  /** What the device is told. */
  readonly error: PartialError;
  readonly retryAfterMs: number;
  /** What is logged. */
  readonly reason: string;
  /** Whether the adapter has logged it already. */
  readonly isLogged: boolean;
}

/** What the backend says to an upload. `agreed`: it has done it, calls the object `id`, and perhaps pushes it by itself. */
export type BackendVerdict =
  | { readonly kind: 'agreed'; readonly id: string; readonly isPushed: boolean }
  | { readonly kind: 'conflict' | 'rejected'; readonly error: PartialError }
  | BackendTrouble;

const MS_PER_S = 1_000;

/**
 * Asks the backend, with the same op id at every attempt. Without one there is nobody to disagree. `stored` is the object as it was
 * when the upload was decided here: then nobody else had changed what the device saw.
 */
export async function askBackend(
  { adapter, source, partition, client, user, conflicts }: UploadTarget,
  upload: AdmittedUpload,
  stored: ObjectRecord | null,
): Promise<BackendVerdict> {
  if (adapter === null) return { kind: 'agreed', id: upload.id, isPushed: false };
  // Devices choose their op ids themselves, so two devices may choose the same one.
  const opId = `${client}:${upload.opId}`;
  const group = groupOf(partition);
  const call = { source, user, ...(group === null ? {} : { partition: group }), opId, id: upload.id };
  const seen = conflicts === 'detect' && stored !== null ? { seen: seenIn(upload, stored) } : {};
  try {
    return { kind: 'agreed', ...(await perform(adapter, { ...call, ...seen }, upload)) };
  } catch (error) {
    return verdictOf(error);
  }
}

type Agreement = Pick<Extract<BackendVerdict, { readonly kind: 'agreed' }>, 'id' | 'isPushed'>;

async function perform(
  adapter: Adapter,
  { seen, ...call }: DeleteCall,
  { op, attributes: texts, removed }: AdmittedUpload,
): Promise<Agreement> {
  const saw = seen === undefined ? {} : { seen };
  const { id } = call;
  if (op === 'delete') return { id, isPushed: isPushed(await adapter.delete({ ...call, ...saw })) };
  const attributes = parseJson(texts.text) as JsonValue;
  if (op === 'create') return { id: await adapter.create({ ...call, attributes }), isPushed: false };
  return { id, isPushed: isPushed(await adapter.update({ ...call, ...saw, attributes, removed })) };
}

function isPushed(answer: Awaited<ReturnType<Adapter['update']>>): boolean {
  return answer?.isPushed === true;
}

/** The values of what the upload touches. */
function seenIn({ op, attributes, removed }: AdmittedUpload, stored: ObjectRecord): JsonValue {
  const all = parseJson(stored.attributes.text) as Record<string, JsonValue>;
  if (op === 'delete') return all;
  const touched = new Set([...attributes.keys(), ...removed]);
  return Object.fromEntries(Object.entries(all).filter(([name]) => touched.has(name)));
}

function verdictOf(error: unknown): BackendVerdict {
  if (error instanceof AdapterRefusal) {
    const code = error.kind === 'conflict' ? 'object_changed' : 'upload_rejected';
    return { kind: error.kind, error: { code, detail: error.message } };
  }
  const isRefusal = error instanceof Refusal;
  const reason = errorMessage(error);
  return {
    kind: 'trouble',
    error: {
      code: isRefusal ? error.code : 'backend_error',
      detail: isRefusal ? reason : 'the adapter of the source failed',
    },
    retryAfterMs: isRefusal ? (error.retryAfterS ?? 0) * MS_PER_S : 0,
    reason,
    isLogged: error instanceof LoggedFailure,
  };
}
