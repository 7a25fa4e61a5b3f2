import { type JsonValue, type Limits, parseJson, pointer, Refusal } from '@tidemark/protocol';
import { refuseFileReferences } from '../admission/admit-files.ts';
import { admitName, quoted } from '../admission/admit-name.ts';
import { admitAttributes } from '../admission/admit-objects.ts';
import { admitFields } from '../entries/admit-fields.ts';
import { admitPassword } from './admit-password.ts';
import type { UserAttributes } from './user-record.ts';

const FIELD = 'attributes';

/** Attribute names that are refused because they look like a privilege or a secret. */
const RESERVED: ReadonlySet<string> = new Set([
  'admin',
  'is_admin',
  'roles',
  'scopes',
  'permissions',
  'hashed_password',
  'password_hash',
  'password_salt',
  'password_digest',
  'salt',
  'token',
  'tokens',
  'api_token',
  'access_token',
]);

export interface NewUser {
  readonly login: string;
  readonly password: string;
  readonly attributes: UserAttributes;
}

export interface UserUpdate {
  /** Null: the password stays. */
  readonly password: string | null;
  readonly attributes: UserAttributes;
}

export function admitNewUser(attributes: unknown, limits: Limits): NewUser {
  const fields = new Map(admitFields(attributes, [FIELD]));
  const login = admitName('login', fields.get('login'), pointer(FIELD, 'login'));
  const password = admitPassword(fields.get('password'), pointer(FIELD, 'password'));
  return { login, password, attributes: mergedAttributes({}, freeAttributes(fields, limits), limits) };
}

export function admitUserUpdate(login: string, attributes: unknown, limits: Limits): UserUpdate {
  const fields = new Map(admitFields(attributes, [FIELD]));
  if (fields.has('login') && fields.get('login') !== login) throw loginIsFixed(login);
  const password = fields.has('password') ? admitPassword(fields.get('password'), pointer(FIELD, 'password')) : null;
  return { password, attributes: freeAttributes(fields, limits) };
}

/** Merges the given attributes into those of a user. */
export function mergedAttributes(old: UserAttributes, given: UserAttributes, limits: Limits): UserAttributes {
  const merged = { ...old, ...given };
  const count = Object.keys(merged).length;
  if (count > limits.userAttributesMax) {
    throw exceeded(`${count} attributes are more than the ${limits.userAttributesMax} a user may have`);
  }
  const units = JSON.stringify(merged).length;
  if (units > limits.userAttributesUnitsMax) {
    throw exceeded(`the attributes are longer than the ${limits.userAttributesUnitsMax} characters a user may have`);
  }
  return merged;
}

function freeAttributes(fields: ReadonlyMap<string, unknown>, limits: Limits): UserAttributes {
  const free = [...fields].filter(([name]) => name !== 'login' && name !== 'password');
  for (const [name] of free) refuseReserved(name);
  const objectLimits = { ...limits, attributesPerObjectMax: limits.userAttributesMax };
  const texts = admitAttributes(Object.fromEntries(free), objectLimits, [FIELD]);
  refuseFileReferences(texts.text, 'a user', pointer(FIELD));
  return Object.fromEntries([...texts].map(([name, text]) => [name, parseJson(text) as JsonValue]));
}

function refuseReserved(name: string): void {
  const plain = name.toLowerCase();
  // A misspelt `Password` would otherwise be stored as an attribute that others can read.
  if (!RESERVED.has(plain) && plain !== 'password') return;
  const detail = `the attribute ${quoted(name)} is reserved`;
  throw new Refusal('reserved_attribute', detail, [{ pointer: pointer(FIELD, name), detail: 'is reserved' }]);
}

function loginIsFixed(login: string): Refusal {
  const detail = `the login ${quoted(login)} cannot change`;
  return new Refusal('immutable_attribute', detail, [{ pointer: pointer(FIELD, 'login'), detail: 'cannot change' }]);
}

function exceeded(detail: string): Refusal {
  return new Refusal('limit_exceeded', detail, [{ pointer: pointer(FIELD), detail }]);
}
