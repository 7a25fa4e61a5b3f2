import {
  type BaseCollectionConfig,
  type CollectionConfig,
  type Transaction,
  withCollectionConfigFactory,
} from '@tanstack/db';
import type { Device, Source } from '@tidemark/client';
import { confirmationsOf } from './confirmations.ts';
import { followSource, type SourceRow } from './follow-source.ts';
import { storeTransaction } from './store-transaction.ts';

/** The settings of TanStack DB that apply to collections of any kind. */
type GeneralConfig<A extends object> = Pick<
  BaseCollectionConfig<SourceRow<A>, string>,
  'id' | 'gcTime' | 'startSync' | 'compare' | 'autoIndex' | 'defaultIndexType' | 'defaultStringCollation'
>;

export interface TidemarkCollectionConfig<A extends object> extends GeneralConfig<A> {
  readonly device: Device;
  /** The source whose objects are the rows, of the same device. It brings their type. */
  readonly source: Source<A>;
}

/** `collection.utils` */
export interface TidemarkCollectionUtils<A extends object> {
  readonly device: Device;
  readonly source: Source<A>;
  /** True if the object has changes that the server has not confirmed. */
  readonly isPending: (id: string) => boolean;
  /**
   * Resolves when the server has confirmed the changes of a transaction to sources of this device; a change that the app
   * discards counts as confirmed. Rejects with `UploadRefusedError` if the server refuses one of them, and if the user
   * signs out. Without a network it waits.
   */
  readonly whenConfirmed: (transaction: Pick<Transaction, 'mutations' | 'isPersisted'>) => Promise<void>;
}

/** What `createCollection` of TanStack DB takes, for the objects of a source. */
export type TidemarkCollectionOptions<A extends object> = CollectionConfig<
  SourceRow<A>,
  string,
  never,
  TidemarkCollectionUtils<A>
> & { readonly utils: TidemarkCollectionUtils<A> };

/** Makes a collection of TanStack DB from a source: `createCollection(tidemarkCollectionOptions({ device, source }))`. */
export function tidemarkCollectionOptions<A extends object>(
  config: TidemarkCollectionConfig<A>,
): TidemarkCollectionOptions<A> {
  return withCollectionConfigFactory(optionsOf(config), () => optionsOf(config));
}

function optionsOf<A extends object>(config: TidemarkCollectionConfig<A>): TidemarkCollectionOptions<A> {
  const { device, source, ...general } = config;
  // A change is stored when the device has it: it is then uploaded even if the app is closed, and comes back from the source.
  const store = ({ transaction }: { readonly transaction: object }) =>
    storeTransaction(device, transaction as Transaction);
  return {
    ...general,
    getKey: ({ id }) => id,
    sync: { sync: followSource(device, source), rowUpdateMode: 'full' },
    onInsert: store,
    onUpdate: store,
    onDelete: store,
    utils: {
      device,
      source,
      isPending: (id) => source.get(id)?.isPending ?? device.uploads.list().some((upload) => isOf(upload, source, id)),
      whenConfirmed: async (transaction) => {
        await transaction.isPersisted.promise;
        const confirmed = confirmationsOf(device).of(transaction);
        if (confirmed === undefined) throw new Error('the transaction has stored nothing on this device');
        await confirmed;
      },
    },
  };
}

function isOf(upload: { readonly source: string; readonly id: string }, source: { name: string }, id: string): boolean {
  return upload.source === source.name && upload.id === id;
}
