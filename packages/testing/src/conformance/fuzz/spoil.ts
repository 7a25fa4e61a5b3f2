import type { Rng } from '@tidemark/client-testing';
import { junkObject, junkText, junkValue } from './junk.ts';

/** Replaces one part of a value: a member, an item, or the whole. */
export function spoilValue(value: unknown, rng: Rng): unknown {
  if (rng.chance(25)) return junkValue(rng);
  if (Array.isArray(value)) return spoilList(value, rng);
  if (typeof value === 'object' && value !== null) return spoilObject(value as Record<string, unknown>, rng);
  return junkValue(rng);
}

function spoilList(list: readonly unknown[], rng: Rng): unknown {
  const place = rng.below(list.length + 1);
  return [...list.slice(0, place), junkValue(rng), ...list.slice(place + 1)];
}

function spoilObject(object: Readonly<Record<string, unknown>>, rng: Rng): unknown {
  const copy = Object.assign(Object.create(null), object) as Record<string, unknown>;
  const names = Object.keys(copy);
  const name = names.length === 0 ? junkText(rng) : rng.pick(names);
  switch (rng.below(5)) {
    case 0:
      delete copy[name];
      return copy;
    case 1:
      return Object.assign(copy, junkObject(rng, 2));
    case 2:
      copy[junkText(rng)] = copy[name];
      return copy;
    default:
      copy[name] = spoilValue(copy[name], rng);
      return copy;
  }
}

/** Damages the JSON text of a body in ways that no JSON writer would. */
export function spoilText(text: string, rng: Rng): string | Buffer {
  const place = rng.below(text.length + 1);
  switch (rng.below(12)) {
    case 0:
      return text.slice(0, place);
    case 1:
      return text + text;
    case 2:
      return `\ufeff${text}`;
    case 3:
      return `${text.slice(0, -1)},}`;
    case 4:
      return text.replace(/^\{/, `{"objects":{},"data":"x","attributes":{},"objects":{},`);
    case 5:
      return text.replaceAll('"', "'");
    case 6:
      return text.replace(/:[^,{}[\]]+/, rng.pick([':NaN', ':Infinity', ':01', ':0x10', ':1e400', ':-', ':undefined']));
    case 7:
      return Buffer.concat([
        Buffer.from(text.slice(0, place)),
        Buffer.from([0xff, 0xc0]),
        Buffer.from(text.slice(place)),
      ]);
    case 8:
      return `${'['.repeat(2_000)}${text}${']'.repeat(2_000)}`;
    case 9:
      return (
        text.slice(0, place) + rng.pick(['\0', '\\', '"', '{', ']', '\u2028', '//', '\\ud800']) + text.slice(place)
      );
    case 10:
      return `${' '.repeat(rng.pick([1, 1_000, 100_000]))}${text}\n`;
    default:
      return `{"data":"${'x'.repeat(rng.pick([100_000, 1_000_000]))}"}`;
  }
}
