import {
  GROUP_PAGES_PER_PULL_MAX,
  GROUPS_PER_CALL_MAX,
  type Outcome,
  type PartialError,
  Refusal,
} from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import type { Clock } from '../ports/clock.ts';
import { groupOf, type Owner, oneOf } from '../ports/owner.ts';
import type { PartitionKey } from '../ports/store.ts';
import { groupIn, groupPartitionsNamed, type ReadableOwners } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Uploads } from '../uploads/uploads.ts';
import { ensureFresh, type PageReaderParts } from './page-reader.ts';
import { type GroupTokens, type Presented, requireGroupTokens, tokenOf } from './presented.ts';
import { type ReadSet, readSet } from './set-token.ts';

export interface FindSourceParts extends PageReaderParts {
  readonly clock: Clock;
  readonly uploads: Pick<Uploads, 'waiting'>;
}

/** One source of a call, and the device that asks for it. */
export interface SourceRequest {
  readonly device: DeviceId;
  /** Resolves when the device is known to be the user's own. */
  readonly opened: Promise<OwnDevice>;
  readonly view: SourceView;
  readonly presented: Presented;
}

/** Where the device stands with the data of one owner. */
export interface OwnerPosition {
  /** Null: the source has no groups. */
  readonly group: string | null;
  readonly position: PullPosition;
  /** The backend could not be asked, and the page has what is stored. */
  readonly error: PartialError | null;
}

/** What a pull finds out about a source before it reads any page. */
export interface FoundSource {
  readonly view: SourceView;
  readonly presented: Presented;
  readonly readable: ReadableOwners;
  /** Outcomes that wait for the device. */
  readonly waiting: readonly Outcome[];
  /** The partitions in which outcomes were looked for. */
  readonly searched: readonly PartitionKey[];
  /** Of every owner that was asked for and that the user may read, except those that the set token stands for. */
  readonly positions: readonly OwnerPosition[];
  /** Those of them that get a page in this answer. */
  readonly paged: readonly OwnerPosition[];
  /** The groups that the device has named and the user is not a member of. */
  readonly gone: readonly string[];
  /** What the set token says. Null: there is none. */
  readonly set: ReadSet | 'unknown' | null;
  /** The groups that the set token stands for. */
  readonly covered: readonly Owner[];
  /** Those of them that have changed, and whose tokens the device has not presented. */
  readonly changed: readonly string[];
  /** Whether the user may read more by now, of which this answer says nothing. */
  readonly hasJoined: boolean;
  /** Whether the answer says anything that the device does not know. */
  readonly hasNews: boolean;
}

/** Finds out whose data the user may read, and where the device stands with each of them. */
export async function findSource(parts: FindSourceParts, request: SourceRequest): Promise<FoundSource> {
  const { device, view, presented } = request;
  const tokens = view.partition_type === 'group' ? admitGroupTokens(view, presented) : null;
  const readable = await parts.sources.memberships.owners(view, device.user);
  const found = {
    ...{ view, presented, readable, waiting: [], searched: [], positions: [], paged: [] },
    ...{ gone: [], set: null, covered: [], changed: [], hasJoined: false, hasNews: false },
  };
  const asked = askedOwners(readable, tokens);
  // The mark is taken before anything is read, so that it is not after any commit that was not read.
  const set = tokens === null ? null : await setOf(parts, request, tokens, { ...readable, owners: asked });
  const isNamed = (owner: Owner) => tokens?.groups.has(groupIn(view, owner) ?? '') ?? true;
  if (set === 'unknown') {
    // The device is told to present all tokens. Those that it has presented count as acknowledged.
    const stored = asked.filter(isNamed).map((owner) => positionOf(parts, request, owner, false));
    return { ...found, set, positions: await Promise.all(stored) };
  }
  const isCovered = set !== null && set.changed !== null;
  const owners = view.sync_type === 'bulk_only' ? [] : asked;
  const named = isCovered ? owners.filter(isNamed) : owners;
  const changed = (set?.changed ?? []).flatMap((owner) => (isNamed(owner) ? [] : (groupIn(view, owner) ?? [])));
  // Outcomes are read before the states, so that pages include what the outcomes tell.
  const outcomes = outcomesOf(parts, request, tokens, readable);
  const states = named.map((owner) => positionOf(parts, request, owner, true));
  const [{ waiting, searched }, positions] = await Promise.all([outcomes, Promise.all(states)]);
  const news = { waiting, searched, positions, paged: pagedOf(view, positions), gone: goneOf(found), changed };
  return { ...found, ...news, set, covered: isCovered ? asked : [], hasNews: hasNews(news) };
}

function hasNews({
  waiting,
  paged,
  gone,
  changed,
}: Pick<FoundSource, 'waiting' | 'paged' | 'gone' | 'changed'>): boolean {
  if (waiting.length > 0 || gone.length > 0 || changed.length > 0) return true;
  return paged.some(({ error, position }) => error !== null || !position.keepsToken);
}

/**
 * Leaves out what the user may not read any more. What was read between two looks at memberships of the same version was
 * read for somebody who may read it.
 */
export async function withoutRevoked(
  { sources }: Pick<FindSourceParts, 'sources'>,
  { user }: DeviceId,
  found: FoundSource,
): Promise<FoundSource> {
  const [view, known] = await Promise.all([
    currentView(sources, found),
    sources.memberships.knownOwners(found.view, user),
  ]);
  if (view === found.view && known.version === found.readable.version) return found;
  const readable = view === found.view ? known : await sources.memberships.knownOwners(view, user);
  const isReadable = oneOf(readable.owners);
  const isKept = ({ position }: OwnerPosition) => isReadable(position.partition.owner);
  const isGroupKept = (name: string) => isReadable({ kind: 'group', name });
  const positions = found.positions.filter(isKept);
  const isMoved = found.view.partition_type !== 'group' && !found.readable.owners.every(isReadable);
  const kept = {
    ...{ ...found, readable, positions, paged: found.paged.filter(isKept) },
    hasJoined: !readable.owners.every(oneOf(found.readable.owners)),
    waiting: isMoved ? [] : found.waiting.filter(({ group }) => group === undefined || isGroupKept(group)),
    changed: found.changed.filter(isGroupKept),
    gone: goneOf({ ...found, readable }),
  };
  return { ...kept, hasNews: hasNews(kept) };
}

/**
 * The source as it is now. If it was dropped and declared again, others may decide who reads the data of a group. Data of
 * users and of everybody is theirs for good, and no memberships say so: their version is 0.
 */
async function currentView(sources: FindSourceParts['sources'], { view, readable }: FoundSource): Promise<SourceView> {
  return readable.version === 0 ? view : ((await sources.find(view.name)) ?? view);
}

function admitGroupTokens({ name }: SourceView, presented: Presented): GroupTokens {
  const tokens = requireGroupTokens(name, presented);
  requireCount(tokens.groups.size, GROUPS_PER_CALL_MAX, 'groups');
  requireCount(tokens.uploads?.length ?? 0, GROUPS_PER_CALL_MAX, 'uploads');
  return tokens;
}

function askedOwners({ owners }: ReadableOwners, tokens: GroupTokens | null): readonly Owner[] {
  if (tokens?.only === undefined) return owners;
  const only = new Set(tokens.only);
  return owners.filter((owner) => owner.kind === 'group' && only.has(owner.name));
}

/** Null: the device wants no set token, or there can be none. Sources with a backend must be asked for each group. */
async function setOf(
  parts: FindSourceParts,
  { opened, view }: SourceRequest,
  { set: presented, only }: GroupTokens,
  { owners, version }: Pick<ReadableOwners, 'owners' | 'version'>,
): Promise<FoundSource['set']> {
  if (presented === undefined) return null;
  if (view.adapter !== NO_ADAPTER) return presented === null ? null : 'unknown';
  const restarts = (await opened).restarts.get(view.name) ?? 0;
  const terms = { sourceVersion: parts.sources.versionOf(view), membershipVersion: version, restarts, only };
  return readSet(parts, { source: view.name, owners, terms, presented });
}

/**
 * Of a source of groups, only groups that the device names are searched. The user may have left them: such a device gets
 * what became of its uploads, and nothing of the objects.
 */
async function outcomesOf(
  { uploads }: FindSourceParts,
  { device: { client }, view: { name: source } }: SourceRequest,
  tokens: GroupTokens | null,
  { owners, earlier }: ReadableOwners,
): Promise<Pick<FoundSource, 'waiting' | 'searched'>> {
  if (tokens === null) {
    const [partition, ...before] = [...owners, ...earlier].map((owner) => ({ source, owner }));
    if (partition === undefined) return { waiting: [], searched: [] };
    const waiting = await uploads.waiting({ source, group: null, client, partition, earlier: before }, true);
    return { waiting, searched: [partition] };
  }
  const isReadable = oneOf(owners);
  const searched = groupPartitionsNamed(source, [...new Set(tokens.uploads)]);
  const waiting = await Promise.all(
    searched.map((partition) => {
      const target = { source, group: groupOf(partition), client, partition, earlier: [] };
      return uploads.waiting(target, isReadable(partition.owner));
    }),
  );
  return { waiting: waiting.flat(), searched };
}

async function positionOf(
  { store, refresher }: FindSourceParts,
  { view, presented, opened }: SourceRequest,
  owner: Owner,
  isRefreshed: boolean,
): Promise<OwnerPosition> {
  const partition = { source: view.name, owner };
  const group = groupIn(view, owner);
  const token = tokenOf(presented, group);
  const error = isRefreshed ? await ensureFresh(refresher, partition, view, token) : null;
  const [state, own] = await Promise.all([store.partition(partition), opened]);
  const restarts = own.restarts.get(view.name) ?? 0;
  return { group, position: positionAt(state, { partition, token, restarts }), error };
}

/**
 * A source without groups always gets its page. Of groups, those with news come first. Errors alone fill the places that
 * are left, because they come again with every pull.
 */
function pagedOf({ partition_type }: SourceView, positions: readonly OwnerPosition[]): readonly OwnerPosition[] {
  if (partition_type !== 'group') return positions;
  const news = positions.filter(({ position }) => !position.keepsToken);
  const errors = positions.filter(({ error, position }) => error !== null && position.keepsToken);
  return [...news, ...errors].slice(0, GROUP_PAGES_PER_PULL_MAX);
}

function goneOf({
  view,
  presented,
  readable,
}: Pick<FoundSource, 'view' | 'presented' | 'readable'>): readonly string[] {
  if (view.partition_type !== 'group') return [];
  const { groups } = requireGroupTokens(view.name, presented);
  if (groups.size === 0) return [];
  const members = new Set(readable.owners.map((owner) => groupIn(view, owner)));
  return [...groups.keys()].filter((group) => !members.has(group));
}

/** Errors that are no refusals are faults of the server and end the whole call. */
export function partialErrorOf(error: unknown): PartialError {
  if (!(error instanceof Refusal)) throw error;
  return { code: error.code, detail: error.message };
}
