import type { Sha256Hash } from '../ports/platform.ts';

interface NodeProcess {
  getBuiltinModule?(name: 'node:crypto'): {
    createHash(algorithm: 'sha256'): { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string };
  };
}

/** Begins a SHA-256 of Node.js, which no bundler may take into a page; null: this is not Node.js, or an early version 20. */
export function nodeHash(): Sha256Hash | null {
  const { process } = globalThis as unknown as { readonly process?: NodeProcess };
  const hash = process?.getBuiltinModule?.('node:crypto').createHash('sha256');
  if (hash === undefined) return null;
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}
