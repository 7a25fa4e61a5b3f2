import { GROUP_PAGES_PER_PULL_MAX, GROUPS_PER_CALL_MAX, type Outcome, type PartialError } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { BuiltPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import { keepsToken, type RenderedPage, rendered } from '../pages/read-page.ts';
import type { Clock } from '../ports/clock.ts';
import { groupPartition } from '../ports/owner.ts';
import type { PartitionState, Store } from '../ports/store.ts';
import type { SourceGroups } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/sources.ts';
import type { Uploads } from '../uploads/uploads.ts';
import { ensureFresh, type PageReaderParts } from './page-reader.ts';
import { hasChanged, type ReadSet, readSet } from './set-token.ts';

/** What a device presents to a source of groups. */
export interface GroupTokens {
  /** Group → the token that the device holds of it; null: none. */
  readonly groups: ReadonlyMap<string, string | null>;
  /** Stands for the tokens of all groups that `groups` does not name. Null: the device has none and wants one. */
  readonly set?: string | null;
  /** The groups to pull; absent: all groups of the user. */
  readonly only?: readonly string[];
  /** The groups in which outcomes of the device's uploads may wait. The user need not be a member any more. */
  readonly uploads?: readonly string[];
}

/** Why there is no page of a source or group. */
export interface NoPage {
  readonly error: PartialError;
}

/** The pages of the groups of one source. */
export interface GroupedPages {
  readonly groups: readonly { readonly group: string; readonly page: RenderedPage | NoPage }[];
  /** Groups that the device knows and the user is not a member of. */
  readonly gone: readonly string[];
  /** Groups that have changed, and whose tokens the device must present. */
  readonly changed: readonly string[];
  /** Stands for all tokens that the device has; null: the one that was presented is unknown; absent: it stays. */
  readonly setToken?: string | null;
  readonly more: boolean;
}

export interface GroupPullParts extends PageReaderParts {
  readonly clock: Clock;
  readonly uploads: Pick<Uploads, 'waitingInGroup'>;
}

export interface GroupRequest {
  readonly device: DeviceId;
  readonly own: OwnDevice;
  readonly source: SourceView;
  readonly tokens: GroupTokens;
}

/** Where the device stands in one of its groups. */
export interface GroupPosition {
  readonly group: string;
  readonly position: PullPosition;
  /** The backend could not be asked, and the page has what is stored. */
  readonly error: PartialError | null;
}

/** What a pull finds out about a source of groups before it reads any page. */
export interface FoundGroups {
  readonly waiting: readonly Outcome[];
  readonly view: SourceView;
  readonly tokens: GroupTokens;
  /** The version of the memberships that the groups were taken from. */
  readonly version: number;
  /** Every group that was asked for and that the user is a member of, except those that the set token stands for. */
  readonly all: readonly GroupPosition[];
  /** Those of them that get a page in this answer. */
  readonly told: readonly GroupPosition[];
  readonly gone: readonly string[];
  /** What the set token says. Null: there is none. */
  readonly set: ReadSet | 'unknown' | null;
  /** The groups that the set token stands for. */
  readonly covered: readonly string[];
  /** Those of them that have changed. */
  readonly changed: readonly string[];
}

/** Finds the groups of the user, and where the device stands in each. */
export async function findGroups(parts: GroupPullParts, request: GroupRequest): Promise<FoundGroups> {
  const { device, source, tokens } = request;
  requireCount(tokens.groups.size, GROUPS_PER_CALL_MAX, 'groups');
  requireCount(tokens.uploads?.length ?? 0, GROUPS_PER_CALL_MAX, 'uploads');
  const { groups, version } = await parts.sources.memberships.groupsOf(source, device.user);
  const only = tokens.only === undefined ? null : new Set(tokens.only);
  const asked = only === null ? groups : groups.filter((group) => only.has(group));
  // The mark is taken before anything is read, so that it is not after any commit that was not read.
  const set = await setOf(parts, request, { groups: asked, version });
  const found = {
    view: source,
    tokens,
    version,
    set,
    changed: [],
    covered: [],
    all: [],
    told: [],
    gone: [],
    waiting: [],
  };
  if (set === 'unknown') return found;
  const isCovered = set !== null && set.changed !== null;
  // Outcomes are read before the states, so that pages include what the outcomes tell.
  const waiting = await waitingOf(parts, request, groups);
  const named = isCovered ? asked.filter((group) => tokens.groups.has(group)) : asked;
  const all = await Promise.all(named.map((group) => positionIn(parts, request, group)));
  return {
    ...{ ...found, all, told: toldOf(all), waiting },
    ...{ gone: goneOf(tokens, groups), covered: isCovered ? asked : [] },
    changed: set?.changed?.filter((group) => !tokens.groups.has(group)) ?? [],
  };
}

/** Groups with news come first. Errors alone fill the places that are left, because they come again with every pull. */
function toldOf(all: readonly GroupPosition[]): readonly GroupPosition[] {
  const errors = all.filter(({ position, error }) => error !== null && keepsToken(position));
  return [...all.filter(hasNews), ...errors].slice(0, GROUP_PAGES_PER_PULL_MAX);
}

/** Whether a page of the group brings the device something to store. */
function hasNews({ position }: GroupPosition): boolean {
  return !keepsToken(position);
}

/** Null: the device wants no set token, or there can be none. Sources with a backend must be asked for each group. */
async function setOf(
  parts: GroupPullParts,
  { own, source, tokens }: GroupRequest,
  { groups, version }: SourceGroups,
): Promise<FoundGroups['set']> {
  const { set: presented, only } = tokens;
  if (presented === undefined) return null;
  if (source.adapter !== NO_ADAPTER) return presented === null ? null : 'unknown';
  const restarts = own.restarts.get(source.name) ?? 0;
  const terms = { sourceVersion: parts.sources.versionOf(source), membershipVersion: version, restarts, only };
  return readSet(parts, { source: source.name, groups, terms, presented });
}

async function waitingOf(
  { uploads }: GroupPullParts,
  { device, source, tokens }: GroupRequest,
  groups: readonly string[],
): Promise<readonly Outcome[]> {
  const waiting = await Promise.all(
    [...new Set(tokens.uploads)].map((group) =>
      uploads.waitingInGroup({ source: source.name, client: device.client, group }, groups.includes(group)),
    ),
  );
  return waiting.flat();
}

async function positionIn(
  { store, refresher }: GroupPullParts,
  { own, source, tokens }: GroupRequest,
  group: string,
): Promise<GroupPosition> {
  const partition = groupPartition(source.name, group);
  const token = tokens.groups.get(group) ?? null;
  const restarts = own.restarts.get(source.name) ?? 0;
  const error = await ensureFresh(refresher, partition, source, token);
  const state = await store.partition(partition);
  return { group, position: positionAt(state, { partition, token, restarts }), error };
}

/** The groups that the device has named and the user is not a member of. */
function goneOf({ groups: named }: GroupTokens, groups: readonly string[]): readonly string[] {
  if (named.size === 0) return [];
  const members = new Set(groups);
  return [...named.keys()].filter((group) => !members.has(group));
}

/**
 * Leaves out the pages of groups that the user has left since the groups were looked up. What was read between two looks
 * at the same memberships was read for a member.
 */
export async function withoutRevoked(
  { sources }: Pick<GroupPullParts, 'sources'>,
  user: string,
  found: FoundGroups,
): Promise<FoundGroups> {
  const { groups, version } = await sources.memberships.knownGroupsOf(found.view, user);
  if (version === found.version) return found;
  const members = new Set(groups);
  const isMember = ({ group }: GroupPosition) => members.has(group);
  return {
    ...found,
    waiting: found.waiting.filter(({ group }) => group === undefined || members.has(group)),
    all: found.all.filter(isMember),
    told: found.told.filter(isMember),
    changed: found.changed.filter((group) => members.has(group)),
    gone: goneOf(found.tokens, groups),
  };
}

/**
 * Whether a group got a commit while the pages were read. A move adds an object to one group before it removes it from the
 * other. An answer that tells the removal and not the addition must therefore say that there is more.
 */
export async function haveMoved(
  store: Store,
  { all, covered, set, tokens }: FoundGroups,
  told: ReadonlyMap<PullPosition, BuiltPage>,
): Promise<boolean> {
  const checks = all.map(async ({ position }) => {
    const seen = told.get(position)?.state ?? position.state;
    return !isSame(seen, await store.partition(position.partition));
  });
  if (set !== null && set !== 'unknown' && covered.length > 0) {
    const unnamed = covered.filter((group) => !tokens.groups.has(group));
    checks.push(hasChanged(store, set, unnamed));
  }
  return (await Promise.all(checks)).includes(true);
}

function isSame(left: PartitionState, right: PartitionState): boolean {
  return left.epoch === right.epoch && left.head === right.head;
}

export function groupedPages(
  found: FoundGroups,
  pages: ReadonlyMap<PullPosition, BuiltPage>,
  hasMoved: boolean,
): GroupedPages {
  const { all, told, gone, changed, set } = found;
  const groups = told.map(({ group, position, error }) => {
    const page = pages.get(position);
    if (page === undefined) throw new Error('a group that is told has a page');
    return { group, page: rendered(position, page, error) };
  });
  if (set === 'unknown') return { groups, gone, changed, setToken: null, more: true };
  const isLeftOut = all.some((one) => hasNews(one) && !pages.has(one.position));
  const more = hasMoved || isLeftOut || changed.length > 0 || groups.some(({ page }) => page.more);
  const token = newSetToken(found);
  return { groups, gone, changed, more, ...(token === null ? {} : { setToken: token }) };
}

/** The set token of a device that has presented the current token of every group. Null: it gets none, or keeps its own. */
function newSetToken({ all, told, gone, changed, set, tokens }: FoundGroups): string | null {
  if (set === null || set === 'unknown' || told.length > 0 || gone.length > 0 || changed.length > 0) return null;
  return set.token === tokens.set || all.some(hasNews) ? null : set.token;
}
