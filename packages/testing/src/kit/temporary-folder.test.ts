import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

it('a folder is new and empty, and goes with everything in it', async () => {
  const folder = await temporaryFolder();
  expect(readdirSync(folder.path)).toEqual([]);
  writeFileSync(join(folder.path, 'file'), 'text');
  await folder.remove();
  expect(existsSync(folder.path)).toBe(false);
  await folder.remove();
});
