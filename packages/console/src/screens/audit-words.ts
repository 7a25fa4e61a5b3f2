import type { AuditFact } from '@tidemark/protocol';

/** What is done, by the action in the audit trail. */
export const ACTION_WORDS: Readonly<Record<string, string>> = {
  login: 'signed in',
  logout: 'signed out',
  'objects.change': 'changed objects by hand',
  'objects.delete': 'deleted objects by hand',
  'objects.move': 'moved objects by hand',
  'document.write': 'wrote a document',
  'read_state.set': 'set when to refresh',
  'source.declare': 'made a source',
  'source.update': 'changed a source',
  'source.schema': 'set the schema of a source',
  'source.drop': 'dropped a source',
  'user.create': 'made a user',
  'user.update': 'changed a user',
  'user.delete': 'deleted a user',
  'user.invite': 'invited a device',
  'user.groups': 'changed the groups of a user',
  'group.members': 'changed the members of a group',
  'client.update': 'set the label of a device',
  'client.end_sessions': 'signed a device out of all sessions',
  'client.delete': 'deleted a device',
  'client.wipe': 'ordered a device to be wiped',
  'device.login': 'signed in on a device',
  'device.delete': 'signed a device out',
  'device.wiped': 'a device was wiped',
  ping: 'sent a ping',
  'token.create': 'made a token',
  'token.revoke': 'revoked a token',
  'jobs.retry': 'retried a job',
  'jobs.remove': 'removed a job',
  'jobs.pause': 'paused a queue',
  'jobs.resume': 'resumed a queue',
  'backup.make': 'made a backup',
  'backup.scheduled': 'made a backup by schedule',
  'backup.prune': 'deleted old backups',
  'backup.download': 'downloaded a backup',
  'backup.verify': 'verified a backup',
  'backup.delete': 'deleted a backup',
  'file.verify': 'verified a file',
  'connector.check': 'checked the database of a connector',
  'connector.delete': 'forgot a connector',
  'appserver.set': 'set the address of the backend',
  'appserver.check': 'checked the backend',
  'backend_secret.read': 'read the secret of the backend',
  'backend.breaker': 'circuit breaker of calls to the backend',
  'admin.reset_password': 'password set on the machine',
  reset: 'deleted everything',
};

export function actionWords(action: string): string {
  return ACTION_WORDS[action] ?? action;
}

/** Who did it. The server itself has no address; `*` stands for addresses that are too many to count each. */
export function actorWords({ actor, address }: Pick<AuditFact, 'actor' | 'address'>): string {
  if (actor !== null) return actor;
  if (address === '*') return 'several, counted together';
  return address === '' ? 'Tidemark itself' : 'nobody known';
}

type Tone = 'good' | 'warn' | 'bad';

/** The states of a circuit breaker are results, and no refusals. */
const STATES: Readonly<Record<string, readonly [Tone, string]>> = {
  closed: ['good', 'closed: calls go through'],
  trying: ['warn', 'trying one call'],
  open: ['bad', 'open: calls wait'],
};

/** Returns how good the result is, and its words. */
export function resultWords({ action, result, count }: Pick<AuditFact, 'action' | 'result' | 'count'>): {
  readonly tone: Tone;
  readonly words: string;
} {
  const state = action === 'backend.breaker' ? STATES[result] : undefined;
  if (state !== undefined) return { tone: state[0], words: state[1] };
  return { tone: result === 'ok' ? 'good' : 'bad', words: count > 1 ? `${result} × ${count}` : result };
}

/** The filters, which are part of the address. */
export interface AuditFilters {
  readonly actor?: string;
  readonly action?: string;
  readonly about?: string;
  /** The first and the last day, in the time of this place. */
  readonly from?: string;
  readonly to?: string;
}

/** Returns the query of the API. The last day belongs to it. */
export function searchOf({ actor, action, about, from, to }: AuditFilters) {
  const given = { actor, action, about, from: startOfDay(from, 0), to: startOfDay(to, 1) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ''));
}

function startOfDay(day: string | undefined, daysLater: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? '') ?? [];
  if (year === undefined) return undefined;
  const moment = new Date(Number(year), Number(month) - 1, Number(date) + daysLater);
  return moment.toISOString();
}
