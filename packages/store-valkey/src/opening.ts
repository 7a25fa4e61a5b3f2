import type { Seal, StoreLife } from '@tidemark/core/ports';
import { carryOut } from './erase.ts';
import { FORMAT, newWord, openLife } from './facts.ts';
import { EVERYTHING } from './guards.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { listOf, numberOf, textOf } from './reply.ts';
import { claimScript } from './scripts/moving.ts';
import { resetScript } from './scripts/registry.ts';

/**
 * Why a store is opened. A source is read by a migration; one that was moved before is read again only on demand. A
 * target is filled by one: it must be empty, unless what a migration has left there may be cleaned away.
 */
export type Opening =
  | { readonly as: 'server' }
  | { readonly as: 'source'; readonly isMovedAllowed: boolean }
  | { readonly as: 'target'; readonly isCleaned: boolean };

const INCOMPLETE = 'incomplete';

/** Makes the store ready for what it is opened for. Why that cannot be, to follow its name; null when all is well. */
export async function prepareLife(link: Link, layout: Layout, opening: Opening): Promise<string | null> {
  if (opening.as === 'target') return claim(link, layout, opening.isCleaned);
  const facts = layout.registryKey('facts');
  if (opening.as === 'source' && (await link.command('HGET', facts, 'epoch')) === null) return 'holds no data';
  const { seal } = await openLife(link, layout);
  return sealProblem(sealFrom(seal), opening);
}

function sealProblem(seal: Seal | null, opening: Exclude<Opening, { readonly as: 'target' }>): string | null {
  if (seal?.state === 'incomplete') {
    return 'holds a migration that was broken off; run tidemark migrate again with --clean, or choose another prefix';
  }
  if (seal?.state === 'moving' && opening.as === 'server') {
    return `was being moved to ${seal.to}; run that tidemark migrate again with --clean, or stay with tidemark migrate --release`;
  }
  if (seal?.state !== 'moved' || (opening.as === 'source' && opening.isMovedAllowed)) return null;
  return `was moved to ${seal.to}, and has gone on there`;
}

export async function readSeal(link: Link, layout: Layout): Promise<Seal | null> {
  const seal = await link.command('HGET', layout.registryKey('facts'), 'seal');
  return seal === null ? null : sealFrom(textOf(seal));
}

/** State, and where to behind a space. */
export function sealText(seal: Seal): string {
  return seal.state === 'incomplete' ? INCOMPLETE : `${seal.state} ${seal.to}`;
}

function sealFrom(text: string): Seal | null {
  const [state = '', ...to] = text.split(' ');
  if (state === 'moving' || state === 'moved') return { state, to: to.join(' ') };
  return state === INCOMPLETE ? { state } : null;
}

async function claim(link: Link, layout: Layout, isCleaned: boolean): Promise<string | null> {
  const args = [newWord(), FORMAT, isCleaned ? '1' : ''];
  const [outcome = '', seal = ''] = listOf(await link.write(claimScript, layout.registry, args)).map((text) =>
    textOf(text),
  );
  if (outcome === 'used') return 'is not empty; a migration needs a place of its own';
  if (outcome === 'left') {
    if (seal.startsWith('moving')) return 'is itself being moved';
    const what = seal === INCOMPLETE ? 'a migration that was broken off' : 'data that was moved away';
    return `holds ${what}; add --clean to empty it first`;
  }
  if (outcome === 'cleanable') await clean(link, layout);
  return null;
}

async function clean(link: Link, layout: Layout): Promise<void> {
  await link.write(resetScript, [...layout.registry, ...layout.stats], [newWord(), EVERYTHING, ...listArgs([])]);
  await carryOut(link, layout, EVERYTHING);
}

/** Versions follow the clock of the server, those of documents as well: none so far is beyond now or the last one. */
export async function readLife(link: Link, layout: Layout): Promise<StoreLife> {
  const [epoch = null, version = null] = listOf(
    await link.command('HMGET', layout.registryKey('facts'), 'epoch', 'version'),
  );
  if (epoch === null) throw new Error('the store has no epoch');
  const [seconds, micros] = listOf((await link.everywhere('TIME'))[0]).map(numberOf);
  const nowUs = (seconds ?? 0) * 1_000_000 + (micros ?? 0);
  return { epoch: textOf(epoch), lastVersion: Math.max(nowUs, version === null ? 0 : numberOf(version)) };
}
