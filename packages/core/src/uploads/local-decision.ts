import type { Limits } from '@tidemark/protocol';
import type { LeasedJob } from '../ports/jobs.ts';
import type { Note, ObjectsRead } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { type PreparedUpload, rereadUpload } from './prepare-uploads.ts';
import { readOutcome, type StoredOutcome } from './upload-notes.ts';
import { type CommitPorts, decide, inPresentVersion, planRefused, seenIn } from './upload-plan.ts';
import { commitRefusal } from './upload-quota.ts';
import type { UploadTarget } from './upload-target.ts';

type AppliableUpload = PreparedUpload & { readonly refusal: null };

/** An upload about which the backend must be asked, with its object if that was read. */
export interface OpenUpload {
  readonly kind: 'open';
  readonly upload: AppliableUpload;
  readonly read: ObjectsRead | null;
  /** The job that asks; null: the request of the device does. */
  readonly job: LeasedJob | null;
}

/** What can be said of an upload without its backend. */
export type LocalDecision = OpenUpload | { readonly kind: 'done'; readonly outcome: StoredOutcome };

/**
 * Finds the outcome if it is known already, or if the upload cannot be applied as things are. Whether the id of a create
 * is taken is for the backend to say: an object of that id may be the effect of an earlier attempt at this very create.
 */
export function decideLocally(
  ports: CommitPorts,
  target: UploadTarget,
  prepared: PreparedUpload,
  job: LeasedJob | null,
): Promise<LocalDecision> {
  const { store, clock, limits } = ports;
  return retryOnConflict(async (isRetry): Promise<LocalDecision | null> => {
    const upload = isRetry ? await rereadUpload(store, target, prepared) : prepared;
    if (upload.note !== null && !mayAsk(job, upload.note)) return { kind: 'done', outcome: readOutcome(upload.note) };
    const created = openCreate(target, upload, limits);
    if (created !== null) return { ...created, job };
    const read = isAppliable(upload) ? await store.readObjects(target.partition, [upload.id]) : null;
    const { prepared: decided, outcome, kept } = decide(target, upload, read, limits);
    if (isAppliable(decided) && outcome.status === 'applied') return { kind: 'open', upload: decided, read, job };
    const plan = { ...planRefused(upload, outcome, clock.nowMs()), kept, ...seenIn(read) };
    return (await commitRefusal(ports, target, plan, { job, note: upload.note })) ? { kind: 'done', outcome } : null;
  });
}

/** Null: it is no create, or cannot be translated to the present version of the schema. */
function openCreate(target: UploadTarget, create: PreparedUpload, limits: Limits): Omit<OpenUpload, 'job'> | null {
  if (create.admitted?.op !== 'create') return null;
  const upload = inPresentVersion(target, create, null, limits);
  return isAppliable(upload) ? { kind: 'open', upload, read: null } : null;
}

function isAppliable(upload: PreparedUpload): upload is AppliableUpload {
  return upload.refusal === null;
}

/** Whether an answer of the backend still counts: the upload is queued, or was set aside. */
export function isOpen(note: Note): boolean {
  const { status, setAsideBy } = readOutcome(note);
  return status === 'queued' || setAsideBy !== undefined;
}

/** Whether the backend may be asked: an upload that was set aside is tried again only by the job that did so. */
export function mayAsk(job: LeasedJob | null, note: Note): boolean {
  const { status, setAsideBy } = readOutcome(note);
  return status === 'queued' || (job !== null && setAsideBy === job.id);
}
