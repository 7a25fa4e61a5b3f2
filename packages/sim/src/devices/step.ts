import type { ModelPartition } from '../model/partition.ts';
import type { History } from '../runner/simulation.ts';

/** A step of SDK devices, their network, their server or the backend. */
export type Step =
  | {
      readonly kind: 'backend_put';
      readonly partition: ModelPartition;
      readonly ids: readonly number[];
      readonly value: number;
    }
  | { readonly kind: 'backend_delete'; readonly partition: ModelPartition; readonly ids: readonly number[] }
  | { readonly kind: 'create'; readonly device: number; readonly source: SourceName }
  | { readonly kind: 'update'; readonly device: number; readonly source: SourceName; readonly pick: number }
  | { readonly kind: 'delete'; readonly device: number; readonly source: SourceName; readonly pick: number }
  /** A device updates an object of the backend that other devices change too. */
  | { readonly kind: 'update_shared'; readonly device: number; readonly source: SourceName; readonly pick: number }
  | { readonly kind: 'sync'; readonly device: number }
  | { readonly kind: 'offline'; readonly device: number }
  | { readonly kind: 'online'; readonly device: number }
  /** Kills the process of the device; with `during`, while it stores a change. */
  | { readonly kind: 'kill_device'; readonly device: number; readonly during: boolean }
  | { readonly kind: 'kill_server' }
  | { readonly kind: 'wait'; readonly turns: number };

export type SourceName = 'Order' | 'Product';

export interface DeviceHistory extends History<Step> {
  /** The user of each device. */
  readonly users: readonly string[];
  readonly pageObjects: number;
}

export const USERS = ['ada', 'bob'] as const;
/** The device that keeps its sources on the disk, where the environment has stores for that. */
export const DISK_DEVICE = 1;
export const SOURCES: readonly SourceName[] = ['Order', 'Product'];

export function partitionOf(source: SourceName, user: string): ModelPartition {
  return { source, user: source === 'Product' ? null : user };
}
