import { clientError } from '../client-error.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import { fromBase64, type Sealer, toBase64 } from './sealer.ts';

/** Wraps a directory, so that it holds only sealed bytes. What stays visible is how many entries there are, and their lengths. */
export function encryptedFiles(directory: FileDirectory, sealer: Sealer): FileDirectory {
  const seal = sealer.sealBytes ?? bytesByText(sealer).seal;
  const open = sealer.openBytes ?? bytesByText(sealer).open;
  return {
    async read(name) {
      const sealed = await directory.read(name);
      if (sealed === null) return null;
      try {
        return await open(sealed, contextOf(name));
      } catch (error) {
        const detail = 'a file cannot be decrypted: the key is another one, or the bytes were changed';
        throw clientError('store_damaged', detail, error);
      }
    },
    write: async (name, bytes) => directory.write(name, await seal(bytes, contextOf(name))),
    delete: (names) => directory.delete(names),
    list: () => directory.list(),
  };
}

function contextOf(name: string): string {
  return `files/${name}`;
}

/** A sealer of an app may know texts only. */
function bytesByText(sealer: Sealer) {
  return {
    seal: async (bytes: Uint8Array, context: string) =>
      new TextEncoder().encode(await sealer.seal(toBase64(bytes), context)) as Uint8Array<ArrayBuffer>,
    open: async (sealed: Uint8Array, context: string) =>
      fromBase64(await sealer.open(new TextDecoder().decode(sealed), context)),
  };
}
