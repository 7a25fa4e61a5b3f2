import { GROUP_PAGES_PER_PULL_MAX, GROUPS_PER_CALL_MAX, type Outcome, type PartialError } from '@tidemark/protocol';
import { groupPartition } from '../admission/custom-partition.ts';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { BuiltPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import { keepsToken, type RenderedPage, rendered } from '../pages/read-page.ts';
import type { PartitionState, Store } from '../ports/store.ts';
import type { SourceView } from '../sources/sources.ts';
import type { Uploads } from '../uploads/uploads.ts';
import { ensureFresh, type PageReaderParts } from './page-reader.ts';

/** What a device presents to a source of groups. */
export interface GroupTokens {
  /** Group → the token that the device holds of it; null: none. */
  readonly groups: ReadonlyMap<string, string | null>;
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
  readonly more: boolean;
}

export interface GroupPullParts extends PageReaderParts {
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
  /** Every group that was asked for and that the user is a member of. */
  readonly all: readonly GroupPosition[];
  /** Those of them that get a page in this answer. */
  readonly told: readonly GroupPosition[];
  readonly gone: readonly string[];
}

/** Finds the groups of the user, and where the device stands in each. */
export async function findGroups(parts: GroupPullParts, request: GroupRequest): Promise<FoundGroups> {
  const { device, own, source, tokens } = request;
  requireCount(tokens.groups.size, GROUPS_PER_CALL_MAX, 'groups');
  requireCount(tokens.uploads?.length ?? 0, GROUPS_PER_CALL_MAX, 'uploads');
  const { groups, version } = await parts.sources.memberships.groupsOf(source, device.user);
  const members = new Set(groups);
  const only = tokens.only === undefined ? null : new Set(tokens.only);
  const asked = only === null ? groups : groups.filter((group) => only.has(group));
  // Outcomes are read before the states, so that pages include what the outcomes tell.
  const waiting = await Promise.all(
    [...new Set(tokens.uploads)].map((group) =>
      parts.uploads.waitingInGroup({ source: source.name, client: device.client, group }, members.has(group)),
    ),
  );
  const restarts = own.restarts.get(source.name) ?? 0;
  const all = await Promise.all(
    asked.map(async (group): Promise<GroupPosition> => {
      const partition = groupPartition(source.name, group);
      const token = tokens.groups.get(group) ?? null;
      const error = await ensureFresh(parts.refresher, partition, source, token);
      const state = await parts.store.partition(partition);
      return { group, position: positionAt(state, { partition, token, restarts }), error };
    }),
  );
  const told = all.filter(({ position, error }) => error !== null || !keepsToken(position));
  return {
    ...{ view: source, tokens, version, all, told: told.slice(0, GROUP_PAGES_PER_PULL_MAX) },
    waiting: waiting.flat(),
    gone: [...tokens.groups.keys()].filter((group) => !members.has(group)),
  };
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
    gone: [...found.tokens.groups.keys()].filter((group) => !members.has(group)),
  };
}

/**
 * Whether a group got a commit while the pages were read. A move adds an object to one group before it removes it from the
 * other. An answer that tells the removal and not the addition must therefore say that there is more.
 */
export async function haveMoved(store: Store, { all }: FoundGroups, told: ReadonlyMap<PullPosition, BuiltPage>) {
  const moved = await Promise.all(
    all.map(async ({ position }) => {
      const seen = told.get(position)?.state ?? position.state;
      return !isSame(seen, await store.partition(position.partition));
    }),
  );
  return moved.includes(true);
}

function isSame(left: PartitionState, right: PartitionState): boolean {
  return left.epoch === right.epoch && left.head === right.head;
}

export function groupedPages(
  { all, told, gone }: FoundGroups,
  pages: ReadonlyMap<PullPosition, BuiltPage>,
  hasMoved: boolean,
): GroupedPages {
  const groups = told.map(({ group, position, error }) => {
    const page = pages.get(position);
    if (page === undefined) throw new Error('a group that is told has a page');
    return { group, page: rendered(position, page, error) };
  });
  const isLeftOut = all.some(({ position }) => position.hasNews && !pages.has(position));
  return { groups, gone, more: hasMoved || isLeftOut || groups.some(({ page }) => page.more) };
}
