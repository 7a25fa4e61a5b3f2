import { type FileDirectory, openDevice } from '@tidemark/client';
import {
  expoNetwork,
  expoSecureItems,
  followAppState,
  phonePlatform,
  secureKey,
  secureSession,
} from '@tidemark/react-native';
import { expoSqlite, openHealingSqliteStore } from '@tidemark/sqlite';
import { getRandomBytes } from 'expo-crypto';
import { Directory, File, Paths } from 'expo-file-system';
import * as Network from 'expo-network';
import * as SecureStore from 'expo-secure-store';
import { openDatabaseAsync } from 'expo-sqlite';
import { AppState, Platform } from 'react-native';
import type { Part } from './types';

const DATABASE = 'tidemark.db';

/** One for the app, its screens and its background task. */
export const device = open();

async function open() {
  // The task in the background reads them while the phone is locked.
  const items = expoSecureItems(SecureStore, { keychainAccessible: SecureStore.AFTER_FIRST_UNLOCK });
  const key = await secureKey(items, { randomBytes: getRandomBytes });
  const store = await openStore(key);
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

/**
 * A database that is damaged, or that was restored on a phone without its key, stays beside the one that takes its place. The server has
 * all that was sent.
 */
function openStore(key: string) {
  const folder = new Directory(Paths.document, 'SQLite');
  const databases = {
    name: DATABASE,
    list: () => (folder.exists ? folder.list().map(({ name }) => name) : []),
    open: async (name: string) => {
      const database = await openDatabaseAsync(name);
      await database.execAsync(`PRAGMA key = "x'${key}'"`);
      return expoSqlite(database);
    },
  };
  return openHealingSqliteStore(databases, {
    files: photoDirectory(),
    onDamaged: ({ name, newName, savedUploads }) =>
      console.warn(`${name} is damaged: ${newName} takes its place, with ${savedUploads} changes`),
  });
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
