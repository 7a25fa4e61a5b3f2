import { type JsonValue, type PartialError, parseJson, Refusal } from '@tidemark/protocol';
import { customNameOf } from '../admission/custom-partition.ts';
import { objectText } from '../journal/json-text.ts';
import { type Adapter, AdapterRefusal, LoggedFailure, type UploadCall } from '../ports/adapter.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import type { UploadTarget } from './upload-target.ts';

/** What the backend says to an upload. `trouble`: nothing that could be relied on, so it must be asked again. */
export type BackendVerdict =
  | { readonly kind: 'agreed'; readonly id: string }
  | { readonly kind: 'conflict' | 'rejected'; readonly error: PartialError }
  | {
      readonly kind: 'trouble';
      readonly error: PartialError;
      readonly retryAfterMs: number;
      readonly reason: string;
      /** The adapter has logged it. */
      readonly isLogged: boolean;
    };

const MS_PER_S = 1_000;

/** Asks the backend, with the same op id at every attempt. */
export async function askBackend(
  adapter: Adapter,
  { source, partition, client, user }: UploadTarget,
  upload: AdmittedUpload,
): Promise<BackendVerdict> {
  // Devices choose their op ids themselves, so two may choose the same one.
  const opId = `${client}:${upload.opId}`;
  const custom = customNameOf(partition.user);
  const call = { source, user, ...(custom === null ? {} : { partition: custom }), opId, id: upload.id };
  try {
    return { kind: 'agreed', id: await perform(adapter, call, upload) };
  } catch (error) {
    return verdictOf(error);
  }
}

async function perform(adapter: Adapter, call: UploadCall, { op, attributes: texts }: AdmittedUpload): Promise<string> {
  if (op === 'delete') {
    await adapter.delete(call);
    return call.id;
  }
  const attributes = parseJson(objectText(texts)) as JsonValue;
  if (op === 'create') return adapter.create({ ...call, attributes });
  await adapter.update({ ...call, attributes });
  return call.id;
}

function verdictOf(error: unknown): BackendVerdict {
  if (error instanceof AdapterRefusal) {
    const code = error.kind === 'conflict' ? 'object_changed' : 'upload_rejected';
    return { kind: error.kind, error: { code, detail: error.message } };
  }
  const isRefusal = error instanceof Refusal;
  const reason = error instanceof Error ? error.message : String(error);
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
