import { openMemoryStore, seededRandom } from '@tidemark/client-testing';
import { movingContract } from '../contracts/moving-contract.ts';
import { storeContract } from '../contracts/store-contract.ts';

const capabilities = { tombstonesPerTrimMax: 4, rowsPerTrimMax: 3 };

storeContract('the memory store', {
  open: async () => openMemoryStore({ random: seededRandom(1), ...capabilities }),
  capabilities,
});

movingContract('the memory store', {
  open: async () => openMemoryStore({ random: seededRandom(1) }),
  openTarget: async () => openMemoryStore({ random: seededRandom(2) }),
});
