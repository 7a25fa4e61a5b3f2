import { type FileDirectory, openDevice } from '@tidemark/client';
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
import { openDatabaseAsync } from 'expo-sqlite';
import { AppState, Platform } from 'react-native';
import type { Part } from './types';

/** One for the app, its screens and its background task. */
export const device = open();

async function open() {
  // The task in the background reads them while the phone is locked.
  const items = expoSecureItems(SecureStore, { keychainAccessible: SecureStore.AFTER_FIRST_UNLOCK });
  const key = await secureKey(items, { randomBytes: getRandomBytes });
  const database = await openDatabaseAsync('tidemark.db');
  await database.execAsync(`PRAGMA key = "x'${key}'"`);
  const store = await openSqliteStore(expoSqlite(database), { files: photoDirectory() });
  const opened = await openDevice({
    url: process.env.EXPO_PUBLIC_TIDEMARK_URL ?? 'http://127.0.0.1:9292',
    store: secureSession(store, items, { randomBytes: getRandomBytes }),
    platform: phonePlatform({ randomBytes: getRandomBytes, network: expoNetwork(Network) }),
    about: { app: 'field-service', platform: Platform.OS, system: `${Platform.OS} ${Platform.Version}` },
    // The newest photos are fetched before somebody asks for them. Photos wait for Wi-Fi, in both directions; objects do not.
    files: { prefetch: { Photo: { newest: 50, by: 'taken_at' } }, metered: false },
  });
  // The price list is long, and searched by name.
  opened.source<Part>('Part', { indexes: ['name'] });
  followAppState(opened, AppState);
  return opened;
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
