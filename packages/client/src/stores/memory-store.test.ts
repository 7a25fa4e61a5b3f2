import { localStoreContract } from '@tidemark/testing';
import { memoryStore } from './memory-store.ts';

localStoreContract('the memory store', {
  isDurable: false,
  newPlace: async () => ({ open: async () => memoryStore(), remove: async () => undefined }),
});
