import { type Store, Tidemark } from '@tidemark/core';
import { CLIENTS_PER_USER_MAX, Refusal } from '@tidemark/protocol';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import {
  collectingLog,
  seededRandom,
  settableClock,
  startValkey,
  temporaryFolder,
  weakPasswords,
} from '@tidemark/testing/kit';
import { describe, expect, it, onTestFinished } from 'vitest';

const AT_ONCE = 500;

/** Opens the stores of two servers that share their data. */
const ENGINES: Readonly<Record<string, () => Promise<readonly [Store, Store]>>> = {
  async embedded() {
    const folder = await temporaryFolder();
    const store = await openEmbeddedStore({ folder: folder.path });
    onTestFinished(async () => {
      await store.close();
      await folder.remove();
    });
    return [store, store];
  },
  async valkey() {
    const server = await startValkey({ settings: { appendonly: 'no' } });
    // The machine may be busy, and the time of a reply is not what is tested here.
    const open = () => openValkeyStore({ address: server.address, answerMs: 300_000 });
    const stores = [await open(), await open()] as const;
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await server.remove();
    });
    return stores;
  },
};

function serverOn(store: Store): Tidemark {
  const random = seededRandom(1);
  return new Tidemark({
    store,
    clock: settableClock(),
    random,
    passwords: weakPasswords(random),
    log: collectingLog(),
  });
}

/** Registers all devices, `atOnce` at a time and at the servers in turn. Returns the codes of refusals. */
async function registerAll(servers: readonly Tidemark[], ids: readonly string[], atOnce: number): Promise<string[]> {
  const refusals: string[] = [];
  const left = ids.entries();
  const worker = async () => {
    for (const [index, client_id] of left) {
      const server = servers[index % servers.length];
      await server?.clients.register('ada', { client_id }).catch((error: unknown) => {
        refusals.push(error instanceof Refusal ? error.code : String(error));
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return refusals;
}

describe.each(Object.keys(ENGINES))('two servers on one %s store', (engine) => {
  it('[CLIENT-9] two servers refuse the device after the last one allowed, whichever server registered the others', async () => {
    const servers = (await ENGINES[engine]?.())?.map(serverOn) ?? [];
    const [first] = servers;
    await first?.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    const ids = Array.from({ length: CLIENTS_PER_USER_MAX + AT_ONCE }, (_, index) => `d${index}`);
    expect(await registerAll(servers, ids.slice(0, CLIENTS_PER_USER_MAX), AT_ONCE)).toEqual([]);
    const refusals = await registerAll(servers, ids.slice(CLIENTS_PER_USER_MAX), AT_ONCE);
    expect(refusals).toEqual(new Array(AT_ONCE).fill('limit_exceeded'));
    expect(await first?.clients.listOf('ada')).toHaveLength(CLIENTS_PER_USER_MAX);
  });
});
