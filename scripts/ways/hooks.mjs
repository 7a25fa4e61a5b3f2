import { fileURLToPath } from 'node:url';
import { instrument } from './instrument.mjs';

// Hooks of module.register: the built modules of a checkout are instrumented while they are loaded. Nothing is written.

let root = '';

export function initialize({ checkout }) {
  root = checkout;
}

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const file = url.startsWith('file:') ? fileURLToPath(url) : '';
  const [, name, path] =
    /^\/packages\/([^/]+)\/dist\/(.+\.js)$/.exec(file.startsWith(root) ? file.slice(root.length) : '') ?? [];
  if (name === undefined || loaded.format !== 'module') return loaded;
  return { ...loaded, source: instrument(Buffer.from(loaded.source).toString('utf8'), `${name}/${path}`) };
}
