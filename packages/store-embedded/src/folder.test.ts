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
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './embedded-store.ts';
import { copyOf, type FleetingBytes } from './fleeting-bytes.ts';
import { UnusableFolder } from './folder.ts';
import { ALL_PLACES } from './keys.ts';
import { liveRecords } from './live-records.ts';
import { MAP_BYTES, openTables } from './tables.ts';

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
  await store.commit({ partition: { source: 's', user: null }, changes, guards: [] });
  await store.close();
  return folder;
}

/** As the first format had it: every record under its own seq. */
async function inFirstFormat(folder: string): Promise<void> {
  const tables = openTables(join(folder, 'store.mdb'), { mapBytes: MAP_BYTES });
  const places = [...tables.live.getRange(ALL_PLACES)].length;
  tables.root.transactionSync(() => {
    const records = [...liveRecords(tables, ALL_PLACES)];
    const [[partition] = [0]] = tables.live.getKeys(ALL_PLACES);
    for (const place of [...tables.live.getKeys(ALL_PLACES)]) tables.live.remove(place);
    for (const { seq, record } of records) tables.live.put([partition, seq], Buffer.from(record));
  });
  expect([places < 200, [...tables.live.getKeys(ALL_PLACES)].length]).toEqual([true, 2_000]);
  await tables.root.close();
  const mark = join(folder, 'tidemark.json');
  writeFileSync(mark, readFileSync(mark, 'utf8').replace('"format": 3', '"format": 1'));
}

/** As the second had it: runs that say nothing of line feeds. */
async function inSecondFormat(folder: string): Promise<void> {
  const tables = openTables(join(folder, 'store.mdb'), { mapBytes: MAP_BYTES });
  tables.root.transactionSync(() => {
    for (const place of [...tables.live.getKeys(ALL_PLACES)]) {
      const run = copyOf(tables.live.get(place) as FleetingBytes);
      expect([place[2], run.readUInt8(0) & 0x80]).toEqual(['run', 0x80]);
      run.writeUInt8(run.readUInt8(0) & 0x7f, 0);
      tables.live.put(place, run);
    }
  });
  await tables.root.close();
  const mark = join(folder, 'tidemark.json');
  writeFileSync(mark, readFileSync(mark, 'utf8').replace('"format": 3', '"format": 2'));
}

const ALL = { after: 0, tombstonesAfter: 0, entriesMax: 10_000, unitsMax: 10_000_000 };

/** Everything in the folder; LMDB's lock file holds nothing that outlives a process. */
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
  it('[FOLDER-7] what lies in a data folder and in a backup is for its owner alone, also where it was open before', async () => {
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

  it('[FOLDER-1] a missing or empty folder becomes a store, and one begun but never finished too', async () => {
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
    const file = join(folder, 'tidemark.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"format": 3', '"format": 4'));
    expect(await refusalOf(folder)).toMatch(/newer Tidemark \(format 4, this version reads up to 3\)/);
  });

  it.each([
    ['first', inFirstFormat],
    ['second', inSecondFormat],
  ])(
    '[FOLDER-6] a folder of the %s format is read as it is, written in this one, and marked so',
    async (_, inFormat) => {
      const folder = await filledFolder();
      await inFormat(folder);
      const store = await openEmbeddedStore({ folder });
      onTestFinished(() => store.close());
      const shared = { source: 's', user: null };
      const [read, joined] = [await store.readJournal(shared, ALL), await store.readJoined(shared, ALL)];
      expect([read.records.length, joined.count, joined.isOneLine]).toEqual([2_000, 2_000, false]);
      expect(Buffer.from(joined.records).toString()).toBe(read.records.join(','));
      const changes = ['o0', 'o1', 'o1999', 'new'].map((id) => ({ id, record: `"${id}":{"a":1}`, checksum: 1 }));
      await store.commit({ partition: shared, changes, guards: [] });
      const { records } = await store.readJournal(shared, ALL);
      expect([records.length, records.at(-1)]).toEqual([2_001, '"new":{"a":1}']);
      expect(readFileSync(join(folder, 'tidemark.json'), 'utf8')).toContain('"format": 3');
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
    expect(await healed.partition({ source: 's', user: null })).toMatchObject({ size: 2_000 });
    await healed.close();
  });

  it('[FOLDER-5] a backup needs a folder of its own, and without its mark it is none', async () => {
    const folder = await filledFolder();
    const store = await openEmbeddedStore({ folder });
    onTestFinished(() => store.close());
    const taken = `${folder}-taken`;
    mkdirSync(taken);
    writeFileSync(join(taken, 'x'), '');
    await expect(store.backup(taken)).rejects.toThrow(/not empty/);
    const copy = `${folder}-copy`;
    await store.backup(copy);
    expect(JSON.parse(readFileSync(join(copy, 'tidemark.json'), 'utf8'))).toMatchObject({ state: 'backup', format: 3 });
    rmSync(join(copy, 'tidemark.json'));
    expect(await refusalOf(copy)).toContain('not a Tidemark data folder');
    expect(existsSync(join(copy, 'store.mdb'))).toBe(true);
  });
});
