import { isEntry } from './processes.mjs';
import { Program } from './program.mjs';

/** The browser that the tests of what runs in browsers use. */
export const CHROMIUM = new Program({
  names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
  debian: 'chromium',
  variable: 'TIDEMARK_CHROMIUM',
  foldersVariable: 'TIDEMARK_CHROMIUM_FOLDERS',
  purpose: 'the tests in a real browser need',
});

if (isEntry(import.meta.url)) process.stdout.write(`${await CHROMIUM.ensureOrExit()}\n`);
