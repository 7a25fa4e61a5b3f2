import { type PingMessage, sha256 } from '@tidemark/core';

/**
 * Under which name a service that is holding pings back for a device may let a newer one take the place of an older one:
 * pings that only say what to synchronise are as good as each other; one with a message stands for itself, and takes the
 * place of nothing but its own repetition. 32 letters, which every service takes. `digest` is the SHA-256 of the ping's id in
 * hexadecimal.
 */
export function collapseKey({ id, message, sources }: PingMessage, digest = sha256(id, 'hex')): string {
  if (message !== undefined) return digest.slice(-KEY_LETTERS);
  return sha256(JSON.stringify(['sync', ...sources]), 'base64url').slice(0, KEY_LETTERS);
}

const KEY_LETTERS = 32;
