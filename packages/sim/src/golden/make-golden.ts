import { openDevice } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import { startServerProcess } from '@tidemark/testing/kit';
import { AdminClient } from '../processes/admin-client.ts';
import type { Command } from '../runner/command.ts';
import { fillStore } from './golden-content.ts';
import { keepGolden } from './golden-files.ts';
import { deviceFormat, embeddedFormat, inFolder, onEmbedded, onValkey, valkeyFormat } from './golden-stores.ts';

/** What the device of a golden folder holds: an object of the server, and one made on the device. */
export const DEVICE_OBJECTS = { 1: { name: 'Compass' }, made: { name: 'offline' } };
const LOGIN = { login: 'ada', password: 'a password for devices' };

function keepEmbedded(): Promise<readonly [string, boolean]> {
  return inFolder(async (folder) => {
    const facts = await onEmbedded(folder, fillStore);
    const name = `embedded-${await embeddedFormat(folder)}`;
    return [name, await keepGolden(name, folder, facts)] as const;
  });
}

function keepValkey(): Promise<readonly [string, boolean]> {
  return inFolder(async (folder) => {
    const { facts, format } = await onValkey(folder, async (store, server) => {
      return { facts: await fillStore(store), format: await valkeyFormat(server) };
    });
    return [`valkey-${format}`, await keepGolden(`valkey-${format}`, folder, facts)] as const;
  });
}

function keepDevice(): Promise<readonly [string, boolean]> {
  return inFolder(async (folder) => {
    const server = await startServerProcess();
    try {
      const admin = new AdminClient(() => server.url);
      await admin.logIn(server.adminPassword);
      await admin.call('POST', '/rc/v1/sources', { name: 'Product', partition_type: 'app' });
      await admin.call('POST', '/rc/v1/users', { attributes: LOGIN });
      await admin.call('POST', '/app/v1/Product/push_objects', { objects: { 1: DEVICE_OBJECTS[1] } });
      const device = await openDevice({ url: server.url, store: await openFileStore(folder) });
      await device.signIn(LOGIN);
      await device.sync();
      device.goOffline();
      await device.source('Product').create(DEVICE_OBJECTS.made, { id: 'made' });
      await device.close();
    } finally {
      await server.stop();
    }
    const name = `device-${await deviceFormat(folder)}`;
    return [name, await keepGolden(name, folder, {})] as const;
  });
}

export const goldenCommand: Command = {
  name: 'golden',
  summary: 'Keeps data of the present formats in packages/sim/golden, for later versions to open. Existing ones stay.',
  options: [],
  run: async () => {
    for (const keep of [keepEmbedded, keepValkey, keepDevice]) {
      const [name, isNew] = await keep();
      process.stdout.write(`${name}: ${isNew ? 'kept' : 'exists'}\n`);
    }
    return 0;
  },
};
