import { ClientError, type FileDirectory, openDevice } from '@tidemark/client';
import {
  expoNetwork,
  expoSecureItems,
  followAppState,
  phonePlatform,
  secureKey,
  secureSession,
} from '@tidemark/react-native';
import { expoSqlite, openSqliteStore } from '@tidemark/sqlite';
import { getRandomBytes } from 'expo-crypto';
import { Directory, File, Paths } from 'expo-file-system';
import * as Network from 'expo-network';
import * as SecureStore from 'expo-secure-store';
import { deleteDatabaseAsync, openDatabaseAsync } from 'expo-sqlite';
import { AppState, Platform } from 'react-native';
import type { Part } from './types';

const DATABASE = 'tidemark.db';

/** One for the app, its screens and its background task. */
export const device = open();

async function open() {
  // The task in the background reads them while the phone is locked.
  const items = expoSecureItems(SecureStore, { keychainAccessible: SecureStore.AFTER_FIRST_UNLOCK });
  const key = await secureKey(items, { randomBytes: getRandomBytes });
  const store = await openStore(key).catch(async (error: unknown) => {
    if (!(error instanceof ClientError) || error.code !== 'store_damaged') throw error;
    // Nobody can read it any more, for example after it was restored on a phone without its key. The server has all that was sent.
    await deleteDatabaseAsync(DATABASE);
    return openStore(key);
  });
  const opened = await openDevice({
    url: process.env.EXPO_PUBLIC_TIDEMARK_URL ?? 'http://127.0.0.1:9292',
    store: secureSession(store, items, { randomBytes: getRandomBytes }),
    platform: phonePlatform({ randomBytes: getRandomBytes, network: expoNetwork(Network) }),
    about: { app: 'field-service', platform: Platform.OS, system: `${Platform.OS} ${Platform.Version}` },
    // The newest photos are fetched before somebody asks for them. Photos wait for Wi-Fi, in both directions; objects do not.
    files: { prefetch: { Photo: { newest: 50, by: 'taken_at' } }, metered: false },
  });
  // The price list may have 200,000 parts. They stay on the disk, and are searched by name.
  opened.source<Part>('Part', { keep: 'disk', indexes: ['name'] });
  followAppState(opened, AppState);
  return opened;
}

async function openStore(key: string) {
  const database = await openDatabaseAsync(DATABASE);
  await database.execAsync(`PRAGMA key = "x'${key}'"`);
  return openSqliteStore(expoSqlite(database), { files: photoDirectory() });
}

/** Photos, in files of the app: those that were not sent, and those that were fetched. */
function photoDirectory(): FileDirectory {
  const directory = new Directory(Paths.document, 'photos');
  directory.create({ idempotent: true });
  const file = (name: string) => new File(directory, name);
  return {
    read: async (name) => (file(name).exists ? file(name).bytes() : null),
    write: async (name, bytes) => file(name).write(bytes),
    has: async (name) => file(name).exists,
    delete: async (names) => {
      for (const name of names) if (file(name).exists) file(name).delete();
    },
    list: async () => directory.list().map(({ name }) => name),
  };
}
