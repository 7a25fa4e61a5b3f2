import type { ClientError } from '../client-error.ts';
import type { LocalStore } from '../ports/local-store.ts';
import type { Platform } from '../ports/platform.ts';
import type { DeviceData } from './device-data.ts';
import type { LazyNetwork } from './lazy-network.ts';
import type { Sessions } from './sessions.ts';

/** What is under way with a file: how much of it, from 0 to 1, or why it could not be fetched. */
export type FileProgress =
  | { readonly kind: 'uploading' | 'downloading'; readonly part: number }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string };

/** What is under way, by SHA-256. */
export type FilesUnderWay = ReadonlyMap<string, FileProgress>;

/** Which files a device fetches before the app asks for them: all of a source, or those of the objects with the largest values. */
export type Prefetch = 'all' | 'none' | { readonly newest: number; readonly by: string };

export interface FileOptions {
  /** Bytes of files that are kept although the server has them. Default: 500 MB. */
  readonly cacheBytes?: number;
  /** False: files wait while the platform says that the user pays for the network by the byte. Default: true. */
  readonly metered?: boolean;
  /** What is fetched in advance, by source. Default: nothing. */
  readonly prefetch?: Readonly<Record<string, Prefetch>>;
}

export interface FileWorkParts {
  readonly options: { readonly store: LocalStore; readonly platform: Platform; readonly files: FileOptions };
  readonly data: DeviceData;
  readonly sessions: Sessions;
  readonly network: LazyNetwork;
  /** True while somebody is signed in and there is a network. */
  readonly isConnected: () => boolean;
  readonly onSessionEnded: (error: ClientError) => void;
}

/** The part of the SDK that works on files, for the tab that has the store and the network. */
export interface FileWork {
  readonly underWay: FilesUnderWay;
  /** Does something for the app, in this tab or in another one. */
  run(name: string, args: readonly unknown[]): Promise<unknown>;
  /** To be called when the state of the device may have changed. */
  follow(): void;
  /** Ends all work, and deletes the bytes of all files. */
  clear(): Promise<void>;
  stop(): void;
}

export type LoadFileWork = (parts: FileWorkParts) => Promise<FileWork>;
