/** A time in which a user was, or may have been, a member of a group. */
interface Membership {
  readonly user: string;
  readonly group: string;
  isAcknowledged: boolean;
  /** Infinite: the user may still be a member. */
  endMs: number;
}

/** Who may have been a member of which group, and when, according to what was answered. */
export class MembershipHistory {
  readonly #memberships: Membership[] = [];
  readonly #groups = new Map<string, readonly string[]>();

  /** The groups of the last change that was acknowledged. */
  groupsOf(user: string): readonly string[] {
    return this.#groups.get(user) ?? [];
  }

  /** Records that a change to these groups begins. From now on the user may be a member of each. */
  begin(user: string, groups: readonly string[]): MembershipChange {
    const begun = groups.map((group) => ({ user, group, isAcknowledged: false, endMs: Number.POSITIVE_INFINITY }));
    const open = this.#memberships.filter((one) => one.user === user && one.endMs === Number.POSITIVE_INFINITY);
    this.#memberships.push(...begun);
    return {
      acknowledge: (endMs) => {
        this.#groups.set(user, groups);
        // A change that was never answered may still take effect, so its memberships stay open.
        for (const one of open) if (one.isAcknowledged && !groups.includes(one.group)) one.endMs = endMs;
        for (const one of begun) one.isAcknowledged = true;
      },
    };
  }

  /** Forgets the changes without an answer. Only for a moment at which all of them have taken effect or never will. */
  settle(user: string, nowMs: number): void {
    const groups = this.groupsOf(user);
    for (const one of this.#memberships) {
      if (one.user === user && !groups.includes(one.group)) one.endMs = Math.min(one.endMs, nowMs);
    }
  }

  /** Returns whether the user may have been a member at or after the moment. */
  mayHaveBeenMember(user: string, group: string, sinceMs: number): boolean {
    return this.#memberships.some((one) => one.user === user && one.group === group && one.endMs >= sinceMs);
  }
}

export interface MembershipChange {
  readonly acknowledge: (endMs: number) => void;
}
