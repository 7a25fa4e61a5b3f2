import { type PingMessage, sha256 } from '@tidemark/core';

/**
 * Under which name a service that is holding pings back for a device may let a newer one take the place of an older one:
 * pings that only say what to synchronise are as good as each other; one with a message stands for itself, and takes the
 * place of nothing but its own repetition. 32 letters, which every service takes.
 */
export function collapseKey({ id, message, sources }: PingMessage): string {
  const same = message === undefined ? ['sync', ...sources] : ['ping', id];
  return sha256(JSON.stringify(same), 'base64url').slice(0, 32);
}
