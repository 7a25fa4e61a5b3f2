import {
  nameProblem,
  PING_MESSAGE_UNITS_MAX,
  PING_SOURCES_MAX,
  PING_TEXT_UNITS_MAX,
  PING_USERS_MAX,
  PING_VIBRATE_S_MAX,
  pointer,
  Refusal,
} from '@tidemark/protocol';
import { admitFields } from '../entries/admit-fields.ts';
import type { PingMessage } from '../ports/notifier.ts';

/** The content of a ping, the same for all devices. */
export type PingContent = Omit<PingMessage, 'id'>;

export interface PingCall {
  /** Without duplicates. */
  readonly users: readonly string[];
  readonly content: PingContent;
  /** True: devices that have acknowledged the heads of all sources of the ping are skipped. */
  readonly onlyBehind: boolean;
}

/** Checks the body of specification 2.5. The field `api_token` is ignored, because the sample there has one. */
export function admitPing(call: unknown): PingCall {
  const fields = new Map(admitFields(call, []).filter(([, value]) => value !== null));
  fields.delete('api_token');
  const users = admitNames('user_id', fields.get('user_id'), PING_USERS_MAX);
  const sources = fields.has('sources') ? admitNames('sources', fields.get('sources'), PING_SOURCES_MAX) : [];
  const onlyBehind = admitOnlyBehind(fields.get('only_behind') ?? false, sources);
  fields.delete('only_behind');
  fields.delete('user_id');
  fields.delete('sources');
  const rest = [...fields].map(([name, value]) => admitField(name, value));
  return { users, onlyBehind, content: Object.assign({ sources }, ...rest) as PingContent };
}

function admitOnlyBehind(value: unknown, sources: readonly string[]): boolean {
  if (typeof value !== 'boolean') throw notAllowed('only_behind', 'must be true or false');
  if (value && sources.length === 0) throw notAllowed('only_behind', 'needs sources: a device is behind in a source');
  return value;
}

const KINDS = { user_id: 'login', sources: 'source' } as const;

/** Checks one name or a list of names. A name given twice counts once. */
function admitNames(field: keyof typeof KINDS, value: unknown, max: number): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (names.length > max) {
    const detail = `${names.length} names are more than the ${max} of one ping`;
    throw new Refusal('limit_exceeded', `${field}: ${detail}`, [{ pointer: pointer(field), detail }]);
  }
  const admitted = names.map((name, index) => {
    const at = Array.isArray(value) ? pointer(field, index) : pointer(field);
    return admitName(field, name, at);
  });
  return [...new Set(admitted)];
}

function admitName(field: keyof typeof KINDS, name: unknown, at: string): string {
  if (typeof name !== 'string') {
    const detail = 'must be a name or a list of names';
    throw new Refusal('invalid_request', `${field} ${detail}`, [{ pointer: at, detail }]);
  }
  const problem = nameProblem(KINDS[field], name);
  if (problem === null) return name;
  throw new Refusal('invalid_name', `a name in ${field} ${problem}`, [{ pointer: at, detail: problem }]);
}

function admitField(name: string, value: unknown): Partial<PingContent> {
  switch (name) {
    case 'message':
      return { message: admitMessage(value) };
    case 'badge':
      return { badge: Number.isSafeInteger(value) ? (value as number) : admitText(name, value, 'a whole number or ') };
    case 'sound':
      return { sound: admitText(name, value) };
    case 'vibrate':
      return { vibrateS: admitVibrate(value) };
    default: {
      const detail = 'is not a field of a ping';
      const shown = JSON.stringify(name.slice(0, PING_TEXT_UNITS_MAX).toWellFormed());
      throw new Refusal('invalid_request', `${shown} ${detail}`, [{ pointer: pointer(name), detail }]);
    }
  }
}

function admitMessage(value: unknown): string {
  if (typeof value === 'string' && value.length > PING_MESSAGE_UNITS_MAX) {
    const detail = `is longer than ${PING_MESSAGE_UNITS_MAX} characters`;
    throw new Refusal('body_too_large', `message ${detail}`, [{ pointer: pointer('message'), detail }]);
  }
  if (typeof value === 'string' && value.isWellFormed()) return value;
  throw notAllowed('message', 'must be a string of well-formed Unicode');
}

function admitText(name: string, value: unknown, or = ''): string {
  if (typeof value === 'string' && value.length <= PING_TEXT_UNITS_MAX && value.isWellFormed()) return value;
  throw notAllowed(name, `must be ${or}a string of well-formed Unicode, at most ${PING_TEXT_UNITS_MAX} characters`);
}

function admitVibrate(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= PING_VIBRATE_S_MAX) return value;
  throw notAllowed('vibrate', `must be a number of seconds from 0 to ${PING_VIBRATE_S_MAX}`);
}

function notAllowed(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}
