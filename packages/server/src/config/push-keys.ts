import { createPrivateKey, type KeyObject } from 'node:crypto';
import { parseMembers } from '@tidemark/protocol';

/** The needed fields of Google's file for a service account. */
export interface ServiceAccount {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKeyId: string | null;
  /** PKCS #8 as PEM. */
  readonly privateKey: string;
  readonly tokenUri: string;
}

/** True if the text is a .p8 file from Apple: a private key of the curve P-256. */
export function isApnsKey(text: string): boolean {
  const key = privateKeyIn(text);
  return key?.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
}

/** Parses Google's JSON file for a service account. Returns null if it is none, or if its key is not an RSA key. */
export function readServiceAccount(text: string): ServiceAccount | null {
  const file = parseMembers(text);
  const [projectId, clientEmail, privateKey] = [file.project_id, file.client_email, file.private_key];
  const tokenUri = file.token_uri ?? 'https://oauth2.googleapis.com/token';
  if (!isText(projectId) || !isText(clientEmail) || !isText(privateKey) || !isText(tokenUri)) return null;
  if (file.type !== 'service_account' || !isHttps(tokenUri)) return null;
  if (privateKeyIn(privateKey)?.asymmetricKeyType !== 'rsa') return null;
  const privateKeyId = isText(file.private_key_id) ? file.private_key_id : null;
  return { projectId, clientEmail, privateKey, privateKeyId, tokenUri };
}

const BUNDLE_ID = /^[A-Za-z0-9.-]{1,155}$/;
const TOPICS_MAX = 100;

/**
 * Parses bundle ids separated by commas. A device names its app by `device_app_id`: the bundle id, or the name before
 * `=`. The first bundle id is for devices that name none. Returns null if the list is invalid.
 */
export function readTopics(text: string): ReadonlyMap<string, string> | null {
  const topics = text.split(',').map((part): readonly [string, string] => {
    const [app = '', bundle = app] = part.split('=').map((side) => side.trim());
    return [app, bundle];
  });
  const isSound = topics.every(([app, bundle]) => app !== '' && BUNDLE_ID.test(bundle)) && topics.length <= TOPICS_MAX;
  return isSound && !/=[^,]*=/.test(text) ? new Map(topics) : null;
}

function privateKeyIn(text: string): KeyObject | null {
  try {
    return createPrivateKey(text);
  } catch {
    return null;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isHttps(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'https:';
}
