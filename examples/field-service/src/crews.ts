import type { Database } from './database.ts';
import { note, type SourceName } from './outbox.ts';

/** Crews rather than people. */
export const TECHNICIANS = [
  ['crew-north', 'Northmoor'],
  ['crew-harbour', 'Port Alder'],
  ['crew-valley', 'Lower Wend Valley'],
] as const;

/** The user who sees and plans the work of all crews. */
export const DISPATCHER = 'dispatch';

/** The SQL condition for what the user in the first parameter sees: a crew its own work, the dispatcher everybody's. */
export const VISIBLE = `?1 IN (technician, '${DISPATCHER}')`;

/** Who made a change on a device, and on which object. */
export interface Call {
  readonly id: string;
  readonly user_id: string | null;
}

export function isDispatcher({ user_id }: Call): boolean {
  return user_id === DISPATCHER;
}

export function isTechnician(database: Database, login: string): boolean {
  return database.get('SELECT 1 FROM technicians WHERE login = ?', login) !== null;
}

interface Changed {
  readonly id: string | number;
  readonly technician: string;
}

/**
 * Notes a change for the devices of the technician and of the dispatcher. Tidemark itself gives a change that was made on a
 * device to the other devices of its user, so that user is left out.
 */
export function noteForOthers(database: Database, source: SourceName, { id, technician }: Changed, call?: Call): void {
  for (const user of [technician, DISPATCHER]) {
    if (user !== call?.user_id) note(database, source, user, id);
  }
}
