import { type PingMessage, sha256 } from '@tidemark/core';

/**
 * Returns the key by which a push service replaces waiting pings of a device by newer ones: pings without a message
 * that name the same sources replace each other; a ping with a message replaces only its own repetition. The key has
 * 32 letters, which every service accepts. `digest` is the SHA-256 of the ping id in hexadecimal.
 */
export function collapseKey({ id, message, sources }: PingMessage, digest = sha256(id, 'hex')): string {
  if (message !== undefined) return digest.slice(-KEY_LETTERS);
  return sha256(JSON.stringify(['sync', ...sources]), 'base64url').slice(0, KEY_LETTERS);
}

const KEY_LETTERS = 32;
