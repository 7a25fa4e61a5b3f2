import { COMMIT_INTERVAL_S, type PartialError } from '@tidemark/protocol';
import type { FileView } from '../files/file-lists.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { CommitInterval } from '../ports/commit-times.ts';
import type { DeviceTidemark, PartitionState, StoredObject } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';

/** Everything that a verdict is made of, as read from the store. */
export interface ExplainFacts {
  readonly object: string;
  readonly source: string;
  /** The object and the state of the partition, read at one moment. Undefined: the partition does not know the object. */
  readonly stored: StoredObject | undefined;
  readonly state: PartitionState;
  /** When the changes of the partition were committed. */
  readonly times: readonly CommitInterval[];
  readonly mark: DeviceTidemark | null;
  /** True: the object is in a partition that the user's data was in before. */
  readonly isInEarlierPartition: boolean;
  /** The group that was asked about, if the user is not a member of it. */
  readonly foreignGroup: string | null;
  /** The group in which the object was looked for; null: the data of the source does not belong to groups. */
  readonly group: string | null;
  /** The order to erase the device; null: there is none. */
  readonly wipe: { readonly orderedAt: string; readonly confirmedAt: string | null } | null;
  /** The outcome of the last upload of this device to the object, unless it was applied or acknowledged. */
  readonly upload: { readonly status: string; readonly error: PartialError | null } | null;
  /** The refreshes of the partition from its backend; null: the source has none. */
  readonly refresh: { readonly atMs: number | null; readonly trouble: PartialError | null } | null;
  /** Why the connector that fills the source from a database has not brought everything; null: it has, or there is none. */
  readonly connector: { readonly name: string; readonly reason: string } | null;
  /** The files that the object refers to and that have not arrived, those that are missing longest first. */
  readonly missingFiles: readonly FileView[];
  /** When the device was last here; before its first pull, when it signed in first. */
  readonly lastContactMs: number;
  readonly isAway: boolean;
}

export type Verdict =
  | 'current'
  | 'behind'
  | 'pending'
  | 'unconfirmed'
  | 'deleted'
  | 'deletion_pending'
  | 'device_away'
  | 'starting_over'
  | 'never_synced'
  | 'other_epoch'
  | 'wiped'
  | 'upload_queued'
  | 'upload_rejected'
  | 'other_partition'
  | 'refresh_failing'
  | 'not_in_backend'
  | 'connector_behind'
  | 'file_not_uploaded'
  | 'trimmed_or_never_existed'
  | 'never_existed';

export interface Explanation {
  readonly verdict: Verdict;
  /** What is the case, in one sentence. */
  readonly sentence: string;
  /** What to do about it; empty: nothing. */
  readonly remedy: string;
  /** The attributes that the device holds in an older version. */
  readonly attributes: readonly string[];
  readonly evidence: {
    /** The group in which the object was looked for; null: the data of the source does not belong to groups. */
    readonly group: string | null;
    /** The seq of the last change of the object; null: the partition does not know it. */
    readonly object_seq: number | null;
    /** When the object last changed or was deleted: not before `changed_at`, not after `changed_by`. Null: unknown. */
    readonly changed_at: string | null;
    readonly changed_by: string | null;
    /** When the oldest change of the object was committed that the device has not acknowledged; null: none, or unknown. */
    readonly behind_since: string | null;
    readonly head: number;
    readonly floor: number;
    /** The seq up to which the device holds every change; null: it has acknowledged nothing. */
    readonly acknowledged: number | null;
    /** The seq up to which the device was sent everything and has not confirmed it; null: there is no such answer. */
    readonly sent: number | null;
    /** How far the pages went of a catch-up that is not complete; null: there is none. */
    readonly catching_up_at: number | null;
    readonly last_contact: string;
    readonly upload: ExplainFacts['upload'];
    readonly refreshed_at: string | null;
    readonly refresh_error: PartialError | null;
    /** The files that the object refers to and that have not arrived. */
    readonly missing_files: readonly FileView[];
  };
}

/** Says whether a device holds an object in its current version, and if not, why. */
export function explain(facts: ExplainFacts): Explanation {
  const { verdict, attributes, sinceSeq } = judge(facts);
  const { state, stored, mark, upload, refresh, lastContactMs } = facts;
  const changed = timeOf(facts, stored?.seq);
  const since = timeOf(facts, sinceSeq);
  const acknowledged = acknowledgedIn(state, mark);
  const isCatchingUp = mark !== null && isValidUpTo(state, mark.epoch) !== null && mark.seq !== mark.base;
  return {
    verdict,
    sentence: SENTENCES[verdict](facts, since),
    remedy: REMEDIES[verdict],
    attributes,
    evidence: {
      group: facts.group,
      object_seq: stored?.seq ?? null,
      changed_at: momentOf(changed?.fromMs),
      changed_by: momentOf(changed?.toMs),
      behind_since: momentOf(since?.fromMs),
      ...{ head: state.head, floor: state.floor, acknowledged, sent: sentIn(facts) },
      catching_up_at: isCatchingUp ? mark.seq : null,
      last_contact: isoTime(lastContactMs),
      upload,
      refreshed_at: momentOf(refresh?.atMs),
      refresh_error: refresh?.trouble ?? null,
      missing_files: facts.missingFiles,
    },
  };
}

interface Judgement {
  readonly verdict: Verdict;
  readonly attributes: readonly string[];
  /** The seq of the oldest change that the device has not acknowledged. */
  readonly sinceSeq?: number;
}

/** When the change with this seq was committed; null: unknown. */
function timeOf({ times }: ExplainFacts, seq: number | undefined): CommitInterval | null {
  return seq === undefined ? null : (times.findLast((time) => time.seq <= seq) ?? null);
}

function momentOf(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : isoTime(ms);
}

/** What Tidemark says about the object, which may be less than what the database says. */
const UP_TO_DATE: ReadonlySet<Verdict> = new Set(['current', 'deleted', 'never_existed', 'trimmed_or_never_existed']);

function judge(facts: ExplainFacts): Judgement {
  const judgement = judgeAsStored(facts);
  if (judgement.verdict === 'current' && facts.missingFiles.length > 0) return plain('file_not_uploaded');
  return facts.connector !== null && UP_TO_DATE.has(judgement.verdict) ? plain('connector_behind') : judgement;
}

function judgeAsStored(facts: ExplainFacts): Judgement {
  const { stored, upload } = facts;
  if (facts.wipe !== null) return plain('wiped');
  if (upload?.status === 'queued') return plain('upload_queued');
  if (facts.foreignGroup !== null) return plain('other_partition');
  if (stored === undefined) return plain(upload === null ? reasonOfAbsence(facts) : 'upload_rejected');
  return judgeStored(facts, stored);
}

function judgeStored(facts: ExplainFacts, stored: StoredObject): Judgement {
  const { state, mark, upload, isAway } = facts;
  if (mark === null) return plain('never_synced');
  if (isValidUpTo(state, mark.epoch) === null) return plain('other_epoch');
  const acknowledged = acknowledgedIn(state, mark);
  if (acknowledged !== null && stored.seq <= acknowledged) {
    return plain(upload === null ? heldVerdict(stored) : 'upload_rejected');
  }
  const isSent = stored.seq <= (sentIn(facts) ?? -1);
  if (acknowledged === null) return plain(isSent ? 'unconfirmed' : 'starting_over');
  const waiting = waitingVerdict(stored, acknowledged);
  if (isSent) return { ...waiting, verdict: 'unconfirmed' };
  return isAway ? { ...waiting, verdict: 'device_away' } : waiting;
}

function plain(verdict: Verdict): Judgement {
  return { verdict, attributes: [] };
}

/** What the device has surely got: the base of its token, if this epoch of the partition still knows it. */
function acknowledgedIn(state: PartitionState, mark: DeviceTidemark | null): number | null {
  if (mark === null || mark.base === null) return null;
  const validUpTo = isValidUpTo(state, mark.epoch);
  return validUpTo !== null && mark.base <= validUpTo ? mark.base : null;
}

/** What the device was sent and has not confirmed, if this epoch of the partition still knows it. */
function sentIn({ state, mark }: ExplainFacts): number | null {
  if (mark?.sent === undefined) return null;
  return mark.sent <= (isValidUpTo(state, mark.epoch) ?? -1) ? mark.sent : null;
}

function reasonOfAbsence({ isInEarlierPartition, refresh, state }: ExplainFacts): Verdict {
  if (isInEarlierPartition) return 'other_partition';
  if (refresh !== null && refresh.trouble !== null) return 'refresh_failing';
  if (refresh !== null && refresh.atMs !== null) return 'not_in_backend';
  return state.floor > 0 ? 'trimmed_or_never_existed' : 'never_existed';
}

function heldVerdict({ record }: StoredObject): Verdict {
  return record === null ? 'deleted' : 'current';
}

/** An object that was created, or replaced as a whole, after what the device acknowledged is new to the device. */
function waitingVerdict({ seq, record }: StoredObject, acknowledged: number): Judgement {
  if (record === null) return { ...plain('deletion_pending'), sinceSeq: seq };
  const { marks } = new ObjectRecord(record, seq);
  if (marks.born > acknowledged) return { ...plain('pending'), sinceSeq: marks.born };
  const changed = [...marks.touched, ...marks.gone].filter(([, at]) => at > acknowledged);
  const attributes = changed.map(([name]) => name).sort();
  return { verdict: 'behind', attributes, sinceSeq: Math.min(seq, ...changed.map(([, at]) => at)) };
}

function contact({ lastContactMs }: ExplainFacts): string {
  return `it was last seen at ${isoTime(lastContactMs)}`;
}

function named({ object, source }: ExplainFacts): string {
  return `object ${JSON.stringify(object)} of ${JSON.stringify(source)}`;
}

/** Says when something happened: exactly, if that is known to the minute; nothing, if it is unknown. */
function when(time: CommitInterval | null): string {
  if (time === null) return '';
  const isExact = time.toMs - time.fromMs <= COMMIT_INTERVAL_S * 1_000;
  return isExact ? ` at ${isoTime(time.fromMs)}` : ` between ${isoTime(time.fromMs)} and ${isoTime(time.toMs)}`;
}

function deletedAt(facts: ExplainFacts): string {
  return `The ${named(facts)} was deleted${when(timeOf(facts, facts.stored?.seq))}`;
}

/** Names the file that has been missing longest, and who has it. */
function missingFile({ missingFiles }: ExplainFacts): string {
  const [file] = missingFiles;
  if (file === undefined) return 'no missing file.';
  const { sha256, name, size, missing_since, devices } = file;
  const [device] = devices;
  const what = `the file ${JSON.stringify(name ?? sha256)} of ${size} bytes`;
  const since = missing_since === null ? '' : ` since ${missing_since}`;
  const others = missingFiles.length === 1 ? '' : ` So are ${missingFiles.length - 1} more.`;
  const who =
    device === undefined
      ? 'and nobody has sent it'
      : `and the device ${device.client_id} of ${JSON.stringify(device.user_id)}, which refers to it, has not sent it`;
  return `${what}: it is missing${since}, ${who}.${others}`;
}

type Sentence = (facts: ExplainFacts, since: CommitInterval | null) => string;

const SENTENCES: Readonly<Record<Verdict, Sentence>> = {
  current: (facts) => `The device holds ${named(facts)} in its current version.`,
  behind: (facts, since) =>
    `The device holds an older version of ${named(facts)}, which changed${when(since)}, and gets the current one at its next pull; ${contact(facts)}.`,
  pending: (facts, since) =>
    `The device does not hold the current ${named(facts)}, which was written${when(since)}, and gets it whole at its next pull; ${contact(facts)}.`,
  unconfirmed: (facts) =>
    `The device was sent the current state of ${named(facts)}, and has not confirmed that it has stored it; ${contact(facts)}.`,
  deleted: (facts) => `${deletedAt(facts)}, and the device has acknowledged that.`,
  deletion_pending: (facts) => `${deletedAt(facts)}, and the device learns it at its next pull; ${contact(facts)}.`,
  device_away: (facts, since) =>
    `The device was not seen since ${isoTime(facts.lastContactMs)}, and has not synchronised the change of ${named(facts)}${when(since)}.`,
  starting_over: ({ mark, state, ...facts }) =>
    `The device is starting over: its pages have come to seq ${mark?.seq ?? 0} of ${state.head}; ${contact({ mark, state, ...facts })}.`,
  never_synced: (facts) =>
    `The device has never synchronised ${JSON.stringify(facts.source)}, or has not told which state it holds; ${contact(facts)}.`,
  other_epoch: (facts) =>
    `The device holds ${JSON.stringify(facts.source)} from before the source was reset, and starts over at its next pull; ${contact(facts)}.`,
  wiped: ({ wipe }) =>
    wipe?.confirmedAt
      ? `The device has erased all its data at ${wipe.confirmedAt}, as an administrator ordered at ${wipe.orderedAt}.`
      : `An administrator has ordered at ${wipe?.orderedAt} to erase the device, which has not confirmed that yet, and gets nothing any more.`,
  upload_queued: (facts) => `An upload of this device for ${named(facts)} is queued and waits for the backend.`,
  upload_rejected: (facts) =>
    `The last upload of this device for ${named(facts)} ended as ${facts.upload?.status}: ${facts.upload?.error?.detail ?? 'no reason was given'}.`,
  other_partition: (facts) =>
    facts.foreignGroup === null
      ? `The ${named(facts)} is in a partition that the user no longer belongs to.`
      : `The user is not a member of the group ${JSON.stringify(facts.foreignGroup)}, so the device does not get ${named(facts)}, and removes what it has of the group at its next pull; ${contact(facts)}.`,
  refresh_failing: (facts) =>
    `The ${named(facts)} is not stored, and the refresh from the backend fails: ${facts.refresh?.trouble?.detail ?? ''}.`,
  not_in_backend: (facts) =>
    `The ${named(facts)} was not in the last answer of the backend${facts.refresh?.atMs ? ` at ${isoTime(facts.refresh.atMs)}` : ''}.`,
  connector_behind: (facts) =>
    `What the database says about ${named(facts)} may not be here yet: of the connector ${JSON.stringify(facts.connector?.name)}, ${facts.connector?.reason}.`,
  file_not_uploaded: (facts) =>
    `The device holds ${named(facts)} in its current version, which refers to ${missingFile(facts)}`,
  trimmed_or_never_existed: (facts) =>
    `The ${named(facts)} does not exist for this user: it never did, or it was deleted so long ago that its tombstone is trimmed.`,
  never_existed: (facts) => `The ${named(facts)} never existed for this user.`,
};

const AT_NEXT_PULL = 'Ping the device, or wait until it pulls.';

const REMEDIES: Readonly<Record<Verdict, string>> = {
  current: '',
  behind: AT_NEXT_PULL,
  pending: AT_NEXT_PULL,
  unconfirmed: 'Wait for its next pull, which confirms it, or ping the device.',
  deleted: '',
  deletion_pending: AT_NEXT_PULL,
  device_away: 'Ping the device, or have its user open the app with a network.',
  starting_over: 'Wait until it has caught up; ping it if it does not continue.',
  never_synced: 'Have the user open the app, and check that the app follows this source.',
  other_epoch: AT_NEXT_PULL,
  wiped: 'Have its user sign in again: the device then begins as a new one.',
  upload_queued: 'Look at the queue of the source: resume it, or repair the backend.',
  upload_rejected: 'The device shows its user why; correct the data or the rule of the backend, and repeat the change.',
  other_partition: 'Check in the backend which partition or groups the user belongs to.',
  refresh_failing: 'Repair the backend; `tidemark appserver check` names the problem.',
  not_in_backend: 'Check whether the backend returns the object for this user, then refresh the source.',
  connector_behind:
    'Look at the connector: `tidemark connectors show` names its last error and the progress of its tables.',
  file_not_uploaded: 'Have the user of the device that has the file open the app with a network.',
  trimmed_or_never_existed: 'Check the id and the user, or push the object.',
  never_existed: 'Check the id and the user, or push the object.',
};
