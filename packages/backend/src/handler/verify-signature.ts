export interface SignedHeaders {
  readonly id: string;
  readonly timestampS: number;
  /** As in the header: one or several, with a space between. */
  readonly signatures: string;
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export type SignatureProblem = 'signature_missing' | 'timestamp_out_of_range' | 'signature_invalid';

/** Signatures of one message that are looked at; a sender has one for each of its secrets. */
const SIGNATURES_MAX = 10;
const SECRET_PREFIX = 'whsec_';
const VERSION = 'v1,';
const ID_UNITS_MAX = 256;

/** The headers of Standard Webhooks, or what is wrong with them. */
export function readSignedHeaders(
  headers: Headers,
  nowMs: number,
  toleranceS: number,
): SignedHeaders | SignatureProblem {
  const id = headers.get('webhook-id') ?? '';
  const timestamp = headers.get('webhook-timestamp') ?? '';
  const signatures = headers.get('webhook-signature') ?? '';
  if (id === '' || id.length > ID_UNITS_MAX || signatures === '' || !/^[0-9]{1,15}$/.test(timestamp)) {
    return 'signature_missing';
  }
  const timestampS = Number(timestamp);
  return Math.abs(nowMs / 1_000 - timestampS) > toleranceS ? 'timestamp_out_of_range' : { id, timestampS, signatures };
}

/** Secrets as keys. Making a key costs more than using it, so it is done once. */
export class SignatureKeys {
  readonly #keys: Promise<readonly Key[]>;

  constructor(secrets: readonly unknown[]) {
    this.#keys = Promise.all(requireSecrets(secrets).map(importKey));
  }

  /** Whether one of the signatures was made with one of the secrets. Comparing takes as long whatever differs. */
  async verify({ id, timestampS, signatures }: SignedHeaders, body: Uint8Array): Promise<boolean> {
    const message = joined(new TextEncoder().encode(`${id}.${timestampS}.`), body);
    const given = signatures.split(' ', SIGNATURES_MAX).flatMap(signatureBytes);
    let isRight = false;
    for (const key of await this.#keys) {
      for (const signature of given) {
        // Every pair is looked at, so that the time does not tell which of them fits.
        if (await crypto.subtle.verify('HMAC', key, signature, message)) isRight = true;
      }
    }
    return isRight;
  }
}

/** A secret that is not set must stop the backend when it starts, and not every call it gets. */
function requireSecrets(secrets: readonly unknown[]): readonly string[] {
  if (secrets.length === 0) throw notSet('the list is empty');
  return secrets.map((secret, index) => {
    const which = secrets.length === 1 ? 'it' : `number ${index + 1} of the list`;
    if (secret === undefined || secret === null || secret === '') throw notSet(`${which} is not set`);
    if (typeof secret !== 'string') throw notSet(`${which} is a ${typeof secret}`);
    if (secretBytes(secret).length === 0)
      throw notSet(`${which} begins with ${SECRET_PREFIX} but is not base64 after that`);
    return secret;
  });
}

function notSet(what: string): TypeError {
  return new TypeError(
    `createHandler needs a secret, and ${what}; give it the value of TIDEMARK_BACKEND_SECRET, which \`tidemark appserver secret\` shows`,
  );
}

function importKey(secret: string): Promise<Key> {
  return crypto.subtle.importKey('raw', secretBytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** A secret is written `whsec_` and base64, as the standard says; any other text stands for its bytes. */
function secretBytes(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith(SECRET_PREFIX)) return new Uint8Array(new TextEncoder().encode(secret));
  return bytesOfBase64(secret.slice(SECRET_PREFIX.length)) ?? new Uint8Array();
}

function signatureBytes(text: string): readonly Uint8Array<ArrayBuffer>[] {
  const bytes = text.startsWith(VERSION) ? bytesOfBase64(text.slice(VERSION.length)) : null;
  return bytes === null ? [] : [bytes];
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}
