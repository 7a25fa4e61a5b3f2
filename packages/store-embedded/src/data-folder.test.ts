import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Change } from '@tidemark/core';
import { sharedPartition } from '@tidemark/core';
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FORMAT, UnusableFolder } from './data-folder.ts';
import { openEmbeddedStore } from './open-store.ts';

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'data');
}

/** A folder with a closed store that fills many pages. */
async function filledFolder(): Promise<string> {
  const folder = await newFolder();
  const store = await openEmbeddedStore({ folder });
  const changes: Change[] = Array.from({ length: 2_000 }, (_, index) => ({
    id: `o${index}`,
    record: `"o${index}":{"text":"${'x'.repeat(200)}"}`,
    checksum: index,
  }));
  await store.commit({ partition: sharedPartition('s'), changes, guards: [] });
  await store.close();
  return folder;
}

/** Writes another format number into the manifest of a folder. */
function setFormat(folder: string, format: number): void {
  const file = join(folder, 'tidemark.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(`"format": ${FORMAT}`, `"format": ${format}`));
}

/** Digests of all files in the folder except LMDB's lock file. */
function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-lock'));
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

async function refusalOf(folder: string): Promise<string> {
  const before = contentOf(folder);
  const error = await openEmbeddedStore({ folder }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof UnusableFolder)) throw new Error(`expected a refusal, got ${error}`);
  expect(contentOf(folder)).toEqual(before);
  expect(error.message).toContain(folder);
  return error.message;
}

describe('data folders', () => {
  it('[CLI-60] a path that is a file, or below one, is refused as such', async () => {
    const file = await newFolder();
    writeFileSync(file, '');
    const messageOf = (folder: string) => openEmbeddedStore({ folder }).catch((error: UnusableFolder) => error.message);
    expect(await messageOf(file)).toBe(`${file} is a file; the data needs a folder: choose another path`);
    const below = join(file, 'x');
    expect(await messageOf(below)).toBe(`${below} lies below a file; the data needs a folder: choose another path`);
  });

  it('[FOLDER-7] data folders and backups are readable by their owner alone, also when their files were open before', async () => {
    const folder = await filledFolder();
    const backup = await newFolder();
    const modes = (of: string) =>
      ['', 'store.mdb', 'tidemark.json'].map((name) => statSync(join(of, name)).mode.toString(8).slice(-3));
    expect(modes(folder)).toEqual(['700', '600', '600']);
    chmodSync(join(folder, 'store.mdb'), 0o644);
    chmodSync(folder, 0o755);
    const store = await openEmbeddedStore({ folder });
    onTestFinished(() => store.close());
    expect(modes(folder)).toEqual(['755', '600', '600']);
    expect(store.engine.warnings).toEqual([
      `${folder} is open to other users of this machine; run chmod go-rwx ${folder}`,
    ]);
    await store.backup(backup);
    expect(modes(backup)).toEqual(['700', '600', '600']);
  });

  it('[FOLDER-1] a missing folder, an empty one, and one whose creation was interrupted become a store', async () => {
    const folder = await newFolder();
    const store = await openEmbeddedStore({ folder });
    const epoch = await store.epoch();
    await store.close();
    expect(readdirSync(folder).sort()).toEqual(['store.mdb', 'store.mdb-lock', 'tidemark.json']);
    const again = await openEmbeddedStore({ folder });
    expect(await again.epoch()).toBe(epoch);
    await again.close();

    const interrupted = await newFolder();
    mkdirSync(interrupted);
    const mark = readFileSync(join(folder, 'tidemark.json'), 'utf8').replace('ready', 'new');
    writeFileSync(join(interrupted, 'tidemark.json'), mark);
    await (await openEmbeddedStore({ folder: interrupted })).close();
  });

  it('[FOLDER-2] a foreign folder is refused by name and left untouched', async () => {
    const folder = await newFolder();
    mkdirSync(folder);
    writeFileSync(join(folder, 'holiday.jpg'), 'x');
    expect(await refusalOf(folder)).toContain('holiday.jpg');
    expect(readdirSync(folder)).toEqual(['holiday.jpg']);
    for (const mark of [
      '',
      '{',
      'null',
      '[]',
      '{"product":"other"}',
      '{"product":"tidemark","engine":"embedded","format":"1"}',
    ]) {
      writeFileSync(join(folder, 'tidemark.json'), mark);
      expect(await refusalOf(folder)).toContain('left untouched');
    }
  });

  it('[FOLDER-3] a folder written by a newer version is refused, naming both formats', async () => {
    const folder = await filledFolder();
    setFormat(folder, FORMAT + 1);
    expect(await refusalOf(folder)).toContain(
      `newer Tidemark (format ${FORMAT + 1}, this version reads format ${FORMAT})`,
    );
  });

  it.each([1, 2, 3])(
    '[FOLDER-6] a folder of trial format %i is refused, with both formats and what to do',
    async (format) => {
      const folder = await filledFolder();
      setFormat(folder, format);
      const message = await refusalOf(folder);
      expect(message).toContain(`trial version of Tidemark (format ${format}, this version reads format ${FORMAT})`);
      expect(message).toContain('start with an empty folder');
    },
  );

  it('[FOLDER-4] a store whose file is missing, foreign, cut off or overwritten is refused', async () => {
    const folder = await filledFolder();
    const file = join(folder, 'store.mdb');
    const damage: Record<string, () => void> = {
      missing: () => rmSync(file),
      empty: () => writeFileSync(file, ''),
      foreign: () => writeFileSync(file, 'x'.repeat(100_000)),
      'cut in the head': () => truncateSync(file, 5_000),
      'cut in the middle': () => truncateSync(file, Math.floor(statSync(file).size / 2)),
      'head overwritten': () => {
        const bytes = readFileSync(file);
        bytes.fill(0xab, 0, 4_096);
        writeFileSync(file, bytes);
      },
    };
    for (const [name, harm] of Object.entries(damage)) {
      const copy = `${folder}-${name.replaceAll(' ', '-')}`;
      cpSync(folder, copy, { recursive: true });
      const original = readFileSync(file);
      harm();
      const message = await refusalOf(folder);
      expect(message, name).toMatch(/missing|damaged/);
      writeFileSync(file, original);
      rmSync(copy, { recursive: true });
    }
    const healed = await openEmbeddedStore({ folder });
    expect(await healed.partition(sharedPartition('s'))).toMatchObject({ size: 2_000 });
    await healed.close();
  });

  it('[FOLDER-5] a backup needs an empty folder, and a folder without a manifest is no backup', async () => {
    const folder = await filledFolder();
    const store = await openEmbeddedStore({ folder });
    onTestFinished(() => store.close());
    const taken = `${folder}-taken`;
    mkdirSync(taken);
    writeFileSync(join(taken, 'x'), '');
    await expect(store.backup(taken)).rejects.toThrow(/not empty/);
    const copy = `${folder}-copy`;
    await store.backup(copy);
    expect(JSON.parse(readFileSync(join(copy, 'tidemark.json'), 'utf8'))).toMatchObject({
      state: 'backup',
      format: FORMAT,
    });
    rmSync(join(copy, 'tidemark.json'));
    expect(await refusalOf(copy)).toContain('not a Tidemark data folder');
    expect(existsSync(join(copy, 'store.mdb'))).toBe(true);
  });
});
