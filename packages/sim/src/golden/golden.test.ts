import { describe, expect, it } from 'vitest';
import { EXPECTED, type GoldenFacts, useStore } from './golden-content.ts';
import { goldenNames, unpackGolden } from './golden-files.ts';
import {
  deviceFormat,
  embeddedFormat,
  inFolder,
  onDevice,
  onEmbedded,
  onValkey,
  valkeyFormat,
} from './golden-stores.ts';
import { DEVICE_OBJECTS } from './make-golden.ts';

const names = await goldenNames();
const of = (kind: string) => names.filter((name) => name.startsWith(`${kind}-`));

describe('data of every released format', () => {
  it('[FORMAT-1] there is a golden folder of each format that this version writes', async () => {
    const embedded = await inFolder((folder) => onEmbedded(folder, () => embeddedFormat(folder)));
    const valkey = await inFolder((folder) => onValkey(folder, (_, server) => valkeyFormat(server)));
    const device = await inFolder((folder) => onDevice(folder, () => deviceFormat(folder)));
    expect(names).toEqual(expect.arrayContaining([`embedded-${embedded}`, `valkey-${valkey}`, `device-${device}`]));
  });

  it.each(of('embedded'))('[FORMAT-2] a data folder of the format %s is read and written', async (name) => {
    const found = await inFolder(async (folder) => {
      const facts = await unpackGolden<GoldenFacts>(name, folder);
      return onEmbedded(folder, (store) => useStore(store, facts));
    });
    expect(found).toEqual(EXPECTED);
  });

  it.each(of('valkey'))('[FORMAT-2] a store of the format %s is read and written', async (name) => {
    const found = await inFolder(async (folder) => {
      const facts = await unpackGolden<GoldenFacts>(name, folder);
      return onValkey(folder, (store) => useStore(store, facts));
    });
    expect(found).toEqual(EXPECTED);
  });

  it.each(of('device'))('[FORMAT-2] the files of a device of the format %s are read and written', async (name) => {
    const found = await inFolder(async (folder) => {
      await unpackGolden(name, folder);
      return onDevice(folder, async (device) => {
        const products = device.source<{ name: string }>('Product');
        await products.update('1', { name: 'Sextant' });
        const shown = products.list().map(({ id, attributes }) => [id, attributes]);
        return { shown: Object.fromEntries(shown), waiting: device.uploads.list().length };
      });
    });
    expect(found).toEqual({ shown: { ...DEVICE_OBJECTS, 1: { name: 'Sextant' } }, waiting: 2 });
  });
});
