import { COMMIT_INTERVAL_S } from '@tidemark/protocol';
import type { CommitInterval } from '../ports/commit-times.ts';
import { isoTime } from '../primitives/time.ts';
import type { ExplainFacts, Verdict } from './explain-facts.ts';

/** When the change with this seq was committed; null: unknown. */
export function timeOf({ times }: ExplainFacts, seq: number | undefined): CommitInterval | null {
  return seq === undefined ? null : (times.findLast((time) => time.seq <= seq) ?? null);
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
  const { sha256, name, size, missing_since, devices, senders } = file;
  const [device] = devices;
  const what = `the file ${JSON.stringify(name ?? sha256)} of ${size} bytes`;
  const since = missing_since === null ? '' : ` since ${missing_since}`;
  const others = missingFiles.length === 1 ? '' : ` So are ${missingFiles.length - 1} more.`;
  const who =
    device === undefined
      ? null
      : `the device ${device.client_id} of ${JSON.stringify(device.user_id)}, which refers to it,`;
  // Somebody had sent the bytes, so they were here.
  if (senders.length > 0) {
    const lost = `${what}: it was sent, and the server has lost its bytes; it is missing${since}`;
    return who === null ? `${lost}.${others}` : `${lost}, and ${who} is asked for it again.${others}`;
  }
  const unsent = who === null ? 'nobody has sent it' : `${who} has not sent it`;
  return `${what}: it is missing${since}, and ${unsent}.${others}`;
}

type Sentence = (facts: ExplainFacts, since: CommitInterval | null) => string;

/** What is the case, in one sentence. */
export const SENTENCES: Readonly<Record<Verdict, Sentence>> = {
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

export const REMEDIES: Readonly<Record<Verdict, string>> = {
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
