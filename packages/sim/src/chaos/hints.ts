import type { FieldDevice } from './field-devices.ts';
import type { MembershipHistory } from './memberships.ts';
import type { Pushers } from './pushers.ts';

const PUSHES = 8;

export interface HintParts {
  readonly pushers: Pushers;
  readonly devices: readonly FieldDevice[];
  readonly memberships: MembershipHistory;
  /** Waits, while nothing else happens. Returns false when that took too long. */
  readonly until: (what: string, isDone: () => Promise<boolean>) => Promise<boolean>;
}

/** Without faults, events alone must tell all devices of a change, long before they would pull by themselves. */
export async function checkHints({ pushers, devices, memberships, until }: HintParts): Promise<void> {
  for (let count = 0; count < PUSHES; count++) {
    const { register, value } = await pushers.pushOne();
    const { source, user_id: user, group } = register.partition;
    const readers = devices.filter(({ process: { login } }) =>
      group === undefined ? user === undefined || user === login : memberships.groupsOf(login).includes(group),
    );
    const isTold = await until(`events alone tell the devices of ${register.id} = ${value}`, async () =>
      readers.every((device) => device.held(source)[register.id]?.n === value),
    );
    if (!isTold) return;
  }
}
