/** Short texts in the keychain of iOS or the keystore of Android. */
export interface SecureItems {
  /** Null: there is no such item. */
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
  delete(name: string): Promise<void>;
}

/** What `expoSecureItems` uses of `expo-secure-store`. */
export interface ExpoSecureStoreLike {
  getItemAsync(name: string, options?: object): Promise<string | null>;
  setItemAsync(name: string, value: string, options?: object): Promise<void>;
  deleteItemAsync(name: string, options?: object): Promise<void>;
}

/**
 * Items of `expo-secure-store`. For a sync in the background pass `{ keychainAccessible: SecureStore.AFTER_FIRST_UNLOCK }`: by default
 * iOS gives nothing while the phone is locked.
 */
export function expoSecureItems(secureStore: ExpoSecureStoreLike, options: object = {}): SecureItems {
  return {
    get: (name) => secureStore.getItemAsync(name, options),
    set: (name, value) => secureStore.setItemAsync(name, value, options),
    delete: (name) => secureStore.deleteItemAsync(name, options),
  };
}

export interface SecureKeyOptions {
  /** Strong random bytes, such as `getRandomBytes` of `expo-crypto`. */
  readonly randomBytes: (count: number) => Uint8Array;
  /** Default: `tidemark.key`. */
  readonly name?: string;
}

const KEY_BYTES = 32;
const KEY = /^[0-9a-f]{64}$/;

/**
 * Returns a key of 256 bits as 64 hexadecimal digits, such as SQLCipher takes, and makes it at the first call. An item that is no key is
 * refused and not replaced, because the data that it protects would be lost.
 */
export function secureKey(
  items: SecureItems,
  { randomBytes, name = 'tidemark.key' }: SecureKeyOptions,
): Promise<string> {
  const key = lastKey.then(() => storedOrNewKey(items, randomBytes, name));
  lastKey = key.catch(() => undefined);
  return key;
}

/** One call after the other: of two that find no key, the second would replace that of the first. */
let lastKey: Promise<unknown> = Promise.resolve();

async function storedOrNewKey(
  items: SecureItems,
  randomBytes: SecureKeyOptions['randomBytes'],
  name: string,
): Promise<string> {
  const stored = await items.get(name);
  if (stored !== null && KEY.test(stored)) return stored;
  if (stored !== null)
    throw new Error(`the item ${name} is not a key of 64 hexadecimal digits; use another name for the key`);
  const key = hexOf(randomBytes(KEY_BYTES));
  if (!KEY.test(key)) throw new Error(`randomBytes(${KEY_BYTES}) must return ${KEY_BYTES} bytes`);
  await items.set(name, key);
  // Some keystores accept an item and lose it: better an error now than data that nobody can read.
  if ((await items.get(name)) !== key) throw new Error(`the item ${name} was not kept by the keychain`);
  return key;
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
