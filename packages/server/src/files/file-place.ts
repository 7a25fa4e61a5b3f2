import { hasStoredFiles, readFilePlace, type Store, writeFilePlace } from '@tidemark/core';
import type { FileEngine } from '@tidemark/files';
import type { Config } from '../config/config.ts';
import { openFileEngine } from './open-file-engine.ts';

/** The files of a store are not where the configuration says. */
class UnusableFiles extends Error {
  override readonly name = 'UnusableFiles';
}

/** Opens the place where the files of a store are. */
export async function openFilesOf(config: Config, store: Store): Promise<FileEngine> {
  const engine = await openFileEngine(config);
  await requirePlace(store, engine);
  return engine;
}

/** Notes where the files of a store are kept, unless they are known to be at another place: there they would all be missing. */
export async function settlePlace(store: Store, engine: FileEngine, nowMs: number): Promise<void> {
  if (await hasStoredFiles(store)) await requirePlace(store, engine);
  const known = await readFilePlace(store);
  if (known?.id === engine.id && known.place === engine.place) return;
  await writeFilePlace(store, engine, known?.id === engine.id ? known.sinceMs : nowMs);
}

async function requirePlace(store: Store, { id, place }: FileEngine): Promise<void> {
  const known = await readFilePlace(store);
  if (known === null || known.id === id) return;
  const was = known.place === place ? `${place}, which holds other files now` : `${known.place}, and not in ${place}`;
  throw new UnusableFiles(
    `the files of this data are in ${was}; mount or name that place (files.folder or files.s3_bucket), ` +
      'or run tidemark files adopt when the files were moved',
  );
}
