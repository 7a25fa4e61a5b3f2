export {
  type TidemarkCollectionConfig,
  type TidemarkCollectionUtils,
  tidemarkCollectionOptions,
} from './collection-options.ts';
export { UploadRefusedError } from './confirmations.ts';
export type { SourceRow } from './follow-source.ts';
export { storeTransaction } from './store-transaction.ts';
