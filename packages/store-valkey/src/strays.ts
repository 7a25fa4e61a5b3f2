import type { Finding } from '@tidemark/core/ports';
import { keyOf } from './keys.ts';
import {
  CLIENT_FENCE_INFIX,
  FENCE,
  type Layout,
  PARTS_INFIX,
  PLACE_KEYS,
  partsInTag,
  QUEUE_KEYS,
  REGISTRY_NAMES,
} from './layout.ts';
import type { Link } from './link.ts';

/** Strays that are named; of the others it is told how many there are. */
const NAMED_MAX = 100;

/**
 * Keys under the prefix that belong to nothing the registry knows. Everything is enrolled before it is written, so a key
 * is a stray when nobody is enrolled for it, and still nobody is after it was seen to be there.
 */
export async function* strayKeys(link: Link, layout: Layout): AsyncIterable<Finding> {
  let unnamed = 0;
  let named = 0;
  for await (const keys of link.scan(layout.prefix)) {
    const strays = await Promise.all(keys.map((key) => isStray(link, layout, key)));
    for (const [index, key] of keys.entries()) {
      if (strays[index] !== true) continue;
      if (named++ < NAMED_MAX) yield orphan(`the key ${JSON.stringify(key)} belongs to nothing`);
      else unnamed++;
    }
  }
  if (unnamed > 0) yield orphan(`${unnamed} more keys belong to nothing`);
}

function orphan(detail: string): Finding {
  return { partition: null, problem: 'orphan', detail };
}

async function isStray(link: Link, layout: Layout, key: string): Promise<boolean> {
  const claim = claimOn(layout, key);
  if (claim === 'held') return false;
  if (claim !== 'none' && (await isHeld(link, claim))) return false;
  if (Number(await link.command('EXISTS', key)) === 0) return false;
  return claim === 'none' || !(await isHeld(link, claim));
}

/** What must be there for a key to belong to something: one command that does not answer nil or 0. */
interface Claim {
  readonly command: 'ZSCORE' | 'HEXISTS' | 'EXISTS';
  readonly key: string;
  readonly args: readonly string[];
}

async function isHeld(link: Link, { command, key, args }: Claim): Promise<boolean> {
  const reply = await link.command(command, key, ...args);
  return reply !== null && reply !== 0;
}

const FORM = /^([^{]*)\{([^}]*)\}:(.+)$/s;

function claimOn(layout: Layout, key: string): Claim | 'held' | 'none' {
  const [, before = '', tag = '', name = ''] = FORM.exec(key.slice(layout.prefix.length)) ?? [];
  if (name === '') return 'none';
  // Of an installation whose prefix begins with ours.
  if (before !== '') return { command: 'EXISTS', key: `${layout.prefix}${before}{registry}:facts`, args: [] };
  if (tag === 'registry') return REGISTRY_NAMES.includes(name) ? 'held' : 'none';
  const parts = partsInTag(tag);
  if (parts === null) return 'none';
  if (parts[0] === 'jobs') return claimOfQueue(layout, parts[1] ?? '', name);
  return claimOfPlace(layout, parts, name, key);
}

function claimOfQueue(layout: Layout, queue: string, name: string): Claim | 'none' {
  if (!(QUEUE_KEYS as readonly string[]).includes(name)) return 'none';
  return { command: 'ZSCORE', key: layout.queues, args: [queue] };
}

function claimOfPlace(layout: Layout, parts: readonly string[], name: string, key: string): Claim | 'held' | 'none' {
  // Fences outlive what they guard, and end by themselves.
  if (name === FENCE || name.startsWith(CLIENT_FENCE_INFIX)) return 'held';
  if (name.startsWith(PARTS_INFIX)) {
    const documents = `${key.slice(0, key.length - name.length)}documents`;
    return { command: 'HEXISTS', key: documents, args: [name.slice(PARTS_INFIX.length)] };
  }
  if (!(PLACE_KEYS as readonly string[]).includes(name)) return 'none';
  return { command: 'ZSCORE', key: layout.registryKey('places'), args: [keyOf(...parts)] };
}
