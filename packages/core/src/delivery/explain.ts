import type { PartialError } from '@tidemark/protocol';
import type { FileView } from '../files/file-lists.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { DeviceTidemark, PartitionState, StoredObject } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import type { ExplainFacts, Verdict } from './explain-facts.ts';
import { REMEDIES, SENTENCES, timeOf } from './explain-sentences.ts';

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
