import type { Log, Passwords } from '@tidemark/core';

/** Simulated users have no secrets, and real hashing would leave the microtask queue. */
export const PLAIN_PASSWORDS: Passwords = {
  hash: async (password) => `plain ${password}`,
  verify: async (password, hash) => hash === `plain ${password}`,
  isOutdated: () => false,
};

const silent = () => undefined;
export const SILENT_LOG: Log = { debug: silent, info: silent, warn: silent, error: silent };
