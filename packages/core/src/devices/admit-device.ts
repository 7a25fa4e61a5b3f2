import {
  DEVICE_ATTRIBUTE_UNITS_MAX,
  DEVICE_TEXT_UNITS_MAX,
  DEVICE_TYPES,
  DEVICE_VERSIONS_UNITS_MAX,
  type DeviceType,
  PUSH_TYPES,
  type PushType,
  pointer,
  pushTypeOf,
  Refusal,
} from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { admitFields } from '../entries/admit-fields.ts';
import type { Device } from './client-record.ts';
import { addressProblem } from './device-address.ts';
import { shortSystem } from './short-system.ts';

const PORT_MAX = 65_535;

/** Attributes that only the server sets. */
const KEPT_BY_SERVER: ReadonlySet<string> = new Set(['user_id', 'last_sync', 'created_at', 'label']);

export interface Registration {
  /** Null: the server chooses an id. */
  readonly clientId: string | null;
  readonly device: Partial<Device>;
}

/** Checks the attributes of a registration, with the id the device asks for, if any. */
export function admitRegistration(attributes: unknown): Registration {
  const fields = new Map(admitFields(attributes, []));
  const wanted = fields.get('client_id') ?? null;
  fields.delete('client_id');
  const clientId = wanted === null ? null : admitName('client', wanted, pointer('client_id'));
  return { clientId, device: deviceOf(fields) };
}

export function admitDeviceUpdate(clientId: string, attributes: unknown): Partial<Device> {
  const fields = new Map(admitFields(attributes, []));
  if (fields.has('client_id') && fields.get('client_id') !== clientId) throw fixed('client_id');
  fields.delete('client_id');
  return deviceOf(fields);
}

function deviceOf(fields: ReadonlyMap<string, unknown>): Partial<Device> {
  return Object.assign({}, ...[...fields].map(([name, value]) => admitAttribute(name, value))) as Partial<Device>;
}

function admitAttribute(name: string, value: unknown): Partial<Device> {
  switch (name) {
    case 'device_type':
      return { device_type: admitDeviceType(value) };
    case 'device_port':
      return { device_port: admitPort(value) };
    case 'device_push_type':
      return { device_push_type: admitPushType(value) };
    case 'device_pin':
    case 'device_app_id':
    case 'device_app_version':
    case 'phone_id':
      return { [name]: admitText(name, value) };
    case 'device_name':
    case 'device_platform':
    case 'device_system':
      return { [name]: admitShownText(name, value) };
    case 'schema_versions':
      return { schema_versions: admitVersions(value) };
    default:
      throw KEPT_BY_SERVER.has(name) ? fixed(name) : unknown(name);
  }
}

function admitDeviceType(value: unknown): DeviceType | null {
  if (value === null) return null;
  const type = DEVICE_TYPES.find((known) => known === value);
  if (type === undefined) throw notAllowed('device_type', `must be null or one of ${DEVICE_TYPES.join(', ')}`);
  return type;
}

function admitPushType(value: unknown): PushType | null {
  if (value === null) return null;
  const type = PUSH_TYPES.find((known) => known === value);
  if (type === undefined) throw notAllowed('device_push_type', `must be null or one of ${PUSH_TYPES.join(', ')}`);
  return type;
}

const ADDRESS_PARTS = ['device_type', 'device_push_type', 'device_pin'] as const;

/**
 * Checks that the address of a device has the form its push service uses, when the change concerns the address. So a
 * mistake is reported at registration, not when a ping does not arrive.
 */
export function admitAddress(device: Device, change: Partial<Device>): void {
  const type = pushTypeOf(device);
  const { device_pin: pin } = device;
  if (type === null || pin === null || pin === '' || !ADDRESS_PARTS.some((part) => part in change)) return;
  const problem = addressProblem(type, pin);
  if (problem !== null) throw notAllowed('device_pin', problem);
}

/** A number is stored as text, because the push services use text. */
function admitPort(value: unknown): string | null {
  if (typeof value !== 'number') return admitText('device_port', value);
  if (Number.isInteger(value) && value >= 0 && value <= PORT_MAX) return String(value);
  throw notAllowed('device_port', `must be a whole number from 0 to ${PORT_MAX}, or a string`);
}

function admitText(name: string, value: unknown): string | null {
  if (value === null) return null;
  if (typeof value !== 'string') throw notAllowed(name, 'must be a string or null');
  if (!value.isWellFormed()) throw notAllowed(name, 'must be well-formed Unicode');
  if (value.length <= DEVICE_ATTRIBUTE_UNITS_MAX) return value;
  throw notAllowed(name, `must not be longer than ${DEVICE_ATTRIBUTE_UNITS_MAX} characters`);
}

/** Control characters, and characters that change the direction of the text around them. */
const UNSHOWABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Checks a text that people read in lists, logs and terminals. An empty one is none. */
export function admitShownText(name: string, value: unknown): string | null {
  const whole = admitText(name, value);
  if (whole === null || whole === '') return null;
  const text = name === 'device_system' ? shortSystem(whole) : whole;
  if (UNSHOWABLE.test(text)) throw notAllowed(name, 'must have no line breaks and no control characters');
  if (text.length <= DEVICE_TEXT_UNITS_MAX) return text;
  throw notAllowed(name, `must not be longer than ${DEVICE_TEXT_UNITS_MAX} characters`);
}

/** Sources that do not exist are allowed: an app may know more of them than the server. */
function admitVersions(value: unknown): Readonly<Record<string, number>> | null {
  if (value === null) return null;
  const versions = admitFields(value, ['schema_versions']).map(([source, version]) => {
    const at = pointer('schema_versions', source);
    admitName('source', source, at);
    if (Number.isSafeInteger(version) && (version as number) >= 1) return [source, version as number] as const;
    const detail = 'must be a whole number from 1';
    throw new Refusal('invalid_value', `${at} ${detail}`, [{ pointer: at, detail }]);
  });
  const said = Object.fromEntries(versions);
  if (JSON.stringify(said).length <= DEVICE_VERSIONS_UNITS_MAX) return said;
  throw notAllowed('schema_versions', `must not be longer than ${DEVICE_VERSIONS_UNITS_MAX} characters as JSON`);
}

/** The value is not repeated: a `device_pin` is a secret. */
function notAllowed(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

function fixed(name: string): Refusal {
  return new Refusal('immutable_attribute', `${name} cannot be set`, [
    { pointer: pointer(name), detail: 'cannot be set' },
  ]);
}

function unknown(name: string): Refusal {
  const detail = 'is not an attribute of a client';
  return new Refusal('invalid_request', `${quoted(name)} ${detail}`, [{ pointer: pointer(name), detail }]);
}
