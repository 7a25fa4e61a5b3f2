import { JOB_ATTEMPTS_MAX, parseJson, textChecksum } from '@tidemark/protocol';
import type { LeasedJob, NewJob } from '../ports/jobs.ts';
import type { PreparedUpload } from './prepare-uploads.ts';
import type { UploadTarget } from './upload-target.ts';

export const UPLOAD_KIND = 'upload';
/** Where uploads go that met trouble although their source names no queue. */
export const UPLOAD_QUEUE = 'uploads';

/**
 * The payload of an upload's job. The upload itself is a note of the device, because notes are erased together with the
 * device, the user or the source, and jobs, dead ones included, are not.
 */
export interface UploadJob {
  readonly source: string;
  readonly client: string;
  /** The registration of the device: a later device of the same id, perhaps of another person, has another one. */
  readonly registration: number;
  /** Absent: the user's own partition. It is named because the user may be in another one by the time the job runs. */
  readonly owner?: string | null;
  readonly opId: string;
  /** When the job was enqueued, since it is not tried for ever. */
  readonly atMs: number;
}

export function readUploadJob({ payload }: LeasedJob): UploadJob {
  return parseJson(payload) as UploadJob;
}

/**
 * Jobs are ordered per object, by the id under which the object began. The owner of the partition is in the order as a
 * checksum, because a dead job may outlive its user; two owners of one checksum would only wait for each other.
 */
export function uploadJob(target: UploadTarget, { opId, origin }: PreparedUpload, atMs: number): NewJob {
  const { source, client, registration, user, partition } = target;
  const owner = partition.user === user ? {} : { owner: partition.user };
  const job: UploadJob = { source, client, registration, ...owner, opId, atMs };
  const of = partition.user === null ? null : textChecksum(partition.user);
  const order = JSON.stringify([source, of, origin]);
  return { kind: UPLOAD_KIND, payload: JSON.stringify(job), attemptsMax: JOB_ATTEMPTS_MAX, order };
}
