import { randomBytes } from 'node:crypto';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listOf, textOf } from './reply.ts';
import { beginScript } from './scripts/registry.ts';

/** What this code writes and reads. */
export const FORMAT = '1';

export function newWord(): string {
  return randomBytes(8).toString('base64url');
}

/** The epoch of the store, which begins its first life if it has none. */
export async function storeEpoch(link: Link, layout: Layout): Promise<string> {
  const known = await link.command('HGET', layout.registryKey('facts'), 'epoch');
  return known === null ? beginLife(link, layout) : textOf(known);
}

/** Of several who begin at once, the first gives the epoch. */
export async function beginLife(link: Link, layout: Layout): Promise<string> {
  return (await openLife(link, layout)).epoch;
}

export async function openLife(link: Link, layout: Layout): Promise<{ readonly epoch: string; readonly seal: string }> {
  const facts = listOf(await link.run(beginScript, layout.registry, [newWord(), FORMAT]));
  const [epoch = '', format = '', seal = ''] = facts.map((fact) => textOf(fact));
  if (format !== FORMAT) {
    throw new Error(`the store has format ${format}, this version of Tidemark reads format ${FORMAT}`);
  }
  return { epoch, seal };
}
