/** Encrypts and decrypts texts. `context` names the row: a text that was sealed for another row must not open. */
export interface Sealer {
  seal(text: string, context: string): Promise<string>;
  /** Rejects if the text was sealed with another key or for another row, or was changed. */
  open(sealed: string, context: string): Promise<string>;
  /** The same of bytes, for files. Absent: their bytes are sealed as texts, which takes more room. */
  sealBytes?(bytes: Uint8Array<ArrayBuffer>, context: string): Promise<Uint8Array<ArrayBuffer>>;
  openBytes?(sealed: Uint8Array<ArrayBuffer>, context: string): Promise<Uint8Array<ArrayBuffer>>;
}

type AesKey = Parameters<typeof globalThis.crypto.subtle.encrypt>[1];

const IV_BYTES = 12;

/** Seals with AES-GCM of WebCrypto. The key may be one that scripts cannot read. */
export function aesGcmSealer(key: AesKey): Sealer {
  const { subtle } = globalThis.crypto;
  const encoder = new TextEncoder();
  const algorithm = (iv: Uint8Array<ArrayBuffer>, context: string) => ({
    name: 'AES-GCM',
    iv,
    additionalData: encoder.encode(context),
  });
  const sealBytes = async (bytes: Uint8Array<ArrayBuffer>, context: string) => {
    const iv = globalThis.crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const body = new Uint8Array(await subtle.encrypt(algorithm(iv, context), key, bytes));
    const sealed = new Uint8Array(IV_BYTES + body.length);
    sealed.set(iv);
    sealed.set(body, IV_BYTES);
    return sealed;
  };
  const openBytes = async (sealed: Uint8Array<ArrayBuffer>, context: string) => {
    const iv = sealed.slice(0, IV_BYTES);
    return new Uint8Array(await subtle.decrypt(algorithm(iv, context), key, sealed.subarray(IV_BYTES)));
  };
  return {
    seal: async (text, context) => toBase64(await sealBytes(encoder.encode(text) as Uint8Array<ArrayBuffer>, context)),
    open: async (sealed, context) => new TextDecoder().decode(await openBytes(fromBase64(sealed), context)),
    sealBytes,
    openBytes,
  };
}

/** In pieces, because a call takes only so many arguments. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
}
