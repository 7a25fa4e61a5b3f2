import { errorMessage, type JsonValue, type PartialError, parseJson, Refusal } from '@tidemark/protocol';
import { type Adapter, AdapterRefusal, LoggedFailure, type UploadCall } from '../ports/adapter.ts';
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

/** What the backend says to an upload. `agreed`: it has done it, and calls the object `id`. */
export type BackendVerdict =
  | { readonly kind: 'agreed'; readonly id: string }
  | { readonly kind: 'conflict' | 'rejected'; readonly error: PartialError }
  | BackendTrouble;

const MS_PER_S = 1_000;

/** Asks the backend, with the same op id at every attempt. Without one there is nobody to disagree. */
export async function askBackend(
  { adapter, source, partition, client, user }: UploadTarget,
  upload: AdmittedUpload,
): Promise<BackendVerdict> {
  if (adapter === null) return { kind: 'agreed', id: upload.id };
  // Devices choose their op ids themselves, so two devices may choose the same one.
  const opId = `${client}:${upload.opId}`;
  const group = groupOf(partition);
  const call = { source, user, ...(group === null ? {} : { partition: group }), opId, id: upload.id };
  try {
    return { kind: 'agreed', id: await perform(adapter, call, upload) };
  } catch (error) {
    return verdictOf(error);
  }
}

async function perform(adapter: Adapter, call: UploadCall, upload: AdmittedUpload): Promise<string> {
  const { op, attributes: texts, removed } = upload;
  if (op === 'delete') {
    await adapter.delete(call);
    return call.id;
  }
  const attributes = parseJson(texts.text) as JsonValue;
  if (op === 'create') return adapter.create({ ...call, attributes });
  await adapter.update({ ...call, attributes, removed });
  return call.id;
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
