import type { Versions } from '@tidemark/client';
import type { Store } from '@tidemark/core';
import type { SyncEvents } from '@tidemark/protocol';
import type { DiskPlant } from '../model/disk-files.ts';
import type { SdkRule } from '../runner/violation.ts';

type Change = SyncEvents['changed'];

/** Where a bug can be planted: in what devices send, get and find, and in their timers. */
export interface SdkPlant extends DiskPlant {
  readonly request?: (host: string, path: string, init: RequestInit) => RequestInit;
  readonly answer?: (host: string, path: string, response: Response) => Promise<Response>;
  readonly event?: (change: Change, send: (change: Change) => void) => void;
  readonly delayed?: (ms: number) => number;
  /** What the server stores in. */
  readonly store?: (store: Store) => Store;
  /** What an app says that it was built with. */
  readonly built?: (versions: Versions) => Versions | undefined;
}

/** A device or server with one bug. It shows that the simulation would notice a bug of that kind. */
export interface PlantedBug {
  readonly name: string;
  /** The rule that the bug must break; some histories may show it in another way. */
  readonly breaks: SdkRule;
  /** Returns a new plant for each history, because it may keep state. */
  readonly plant: () => SdkPlant;
}

export function onRequest<T>(path: string, change: (body: T) => T): NonNullable<SdkPlant['request']> {
  return (_host, of, init) => {
    if (of !== path || typeof init.body !== 'string') return init;
    return { ...init, body: JSON.stringify(change(JSON.parse(init.body) as T)) };
  };
}

export function onAnswer<T>(path: string, change: (body: T) => T): NonNullable<SdkPlant['answer']> {
  return async (_host, of, response) => {
    if (of !== path || !response.ok) return response;
    return new Response(JSON.stringify(change((await response.json()) as T)), { headers: response.headers });
  };
}
