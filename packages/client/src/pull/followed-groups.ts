import { groupsHeld } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';

/** Which groups of a source the device keeps. */
export interface FollowOptions {
  /** Null: all groups of the user. */
  readonly groups: readonly string[] | null;
  /** How long the objects of a group are kept after it is no longer followed. Default: they are removed at once. */
  readonly keepForMs?: number;
}

interface FollowedGroups {
  readonly groups: readonly string[];
  readonly keepForMs: number;
  /** When the device stopped following groups that it still holds. */
  readonly left: readonly (readonly [group: string, atMs: number])[];
}

const PREFIX = 'follow:';

/** Undefined: the device follows all groups of the user. */
export function followedGroups(reader: Reader, source: string): FollowedGroups | undefined {
  return reader.get('facts', ['', PREFIX + source]) as unknown as FollowedGroups | undefined;
}

export function followGroups(tx: Transaction, source: string, options: FollowOptions, nowMs: number): void {
  const { groups, keepForMs = 0 } = options;
  if (groups === null) {
    tx.delete('facts', ['', PREFIX + source]);
    return;
  }
  const leftAtMs = new Map(followedGroups(tx, source)?.left);
  const left = groupsHeld(tx, source)
    .filter((group) => !groups.includes(group))
    .map((group) => [group, leftAtMs.get(group) ?? nowMs]);
  tx.put('facts', ['', PREFIX + source], { groups: [...new Set(groups)], keepForMs, left });
}

/** The groups that the device holds and need not keep any longer. */
export function groupsToDrop(reader: Reader, source: string, nowMs: number): readonly string[] {
  const { left = [], keepForMs = 0 } = followedGroups(reader, source) ?? {};
  const held = new Set(groupsHeld(reader, source));
  return left.flatMap(([group, atMs]) => (held.has(group) && atMs + keepForMs <= nowMs ? [group] : []));
}

/** Forgets what the user followed. */
export function forgetFollowed(tx: Transaction): void {
  for (const [name] of [...tx.entries('facts', '')]) if (name.startsWith(PREFIX)) tx.delete('facts', ['', name]);
}
