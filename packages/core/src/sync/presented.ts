import { Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';

/** What a device presents of a source: its token, or null if it has none. Of a source of groups, the tokens of its groups. */
export type Presented = string | null | GroupTokens;

/** What a device presents of a source of groups. */
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

/** The token of a group, or, with null, that of a source without groups. Null: the device has none. */
export function tokenOf(presented: Presented, group: string | null): string | null {
  if (isGroupTokens(presented)) return group === null ? null : (presented.groups.get(group) ?? null);
  return group === null ? presented : null;
}

/** A device that does not know of groups must not take their pages for pages of the source. */
export function requireGroupTokens(source: string, presented: Presented): GroupTokens {
  if (isGroupTokens(presented)) return presented;
  throw new Refusal('group_required', `the data of ${quoted(source)} belongs to groups: send a token for each`);
}

function isGroupTokens(presented: Presented): presented is GroupTokens {
  return typeof presented === 'object' && presented !== null;
}
