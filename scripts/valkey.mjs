import { isEntry } from './processes.mjs';
import { Program } from './program.mjs';

/** The server that the tests of the Valkey engine run on. */
export const VALKEY = new Program({
  names: ['valkey-server', 'redis-server'],
  debian: 'redis-server',
  variable: 'TIDEMARK_VALKEY_SERVER',
  foldersVariable: 'TIDEMARK_VALKEY_FOLDERS',
  purpose: 'the tests of the Valkey engine need',
});

if (isEntry(import.meta.url)) process.stdout.write(`${await VALKEY.ensureOrExit()}\n`);
