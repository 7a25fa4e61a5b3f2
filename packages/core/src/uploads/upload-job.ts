import { JOB_ATTEMPTS_MAX, parseJson, textChecksum } from '@tidemark/protocol';
import type { RegisteredDevice } from '../devices/device-sessions.ts';
import type { LeasedJob, NewJob } from '../ports/jobs.ts';
import { ownerText } from '../ports/owner.ts';
import type { PartitionKey } from '../ports/store.ts';

export const UPLOAD_KIND = 'upload';
/** The queue of uploads whose backend was in trouble, where the source names no queue. */
export const UPLOAD_QUEUE = 'uploads';

/**
 * The payload of an upload's job. The upload itself is a note of the device, because notes are erased together with the
 * device, the user or the source, and jobs are not.
 */
export interface UploadJob {
  readonly source: string;
  readonly client: string;
  /** The registration of the device: a later device of the same id, perhaps of another user, has another one. */
  readonly registration: number;
  /** The text of the owner of the partition; absent: the user of the device. The user may be in another partition when the job runs. */
  readonly owner?: string | null;
  readonly opId: string;
  /** When the job was enqueued. It is given up after `UPLOAD_GIVE_UP_MS`. */
  readonly atMs: number;
}

export function readUploadJob({ payload }: LeasedJob): UploadJob {
  return parseJson(payload) as UploadJob;
}

/**
 * Jobs are ordered per object, by the id of its create. The order names the owner of the partition by a checksum, because
 * a dead job may outlive its user; two owners with the same checksum would only wait for each other.
 */
export function uploadJob(
  target: RegisteredDevice & { readonly source: string; readonly partition: PartitionKey },
  { opId, origin }: { readonly opId: string; readonly origin: string },
  atMs: number,
): NewJob {
  const { source, client, registration, user, partition } = target;
  const text = ownerText(partition.owner);
  const owner = text === user ? {} : { owner: text };
  const job: UploadJob = { source, client, registration, ...owner, opId, atMs };
  const checksum = text === null ? null : textChecksum(text);
  const order = JSON.stringify([source, checksum, origin]);
  return { kind: UPLOAD_KIND, payload: JSON.stringify(job), attemptsMax: JOB_ATTEMPTS_MAX, order };
}
