import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import {
  startValkey,
  startValkeyCluster,
  startValkeySentinel,
  untilServed,
  type ValkeyServer,
} from '@tidemark/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openValkeyBus, type ValkeyBusOptions } from './bus.ts';
import { openValkeyStore } from './open-store.ts';

/** Opens a bus, and lets a test wait for a message or a gap. */
async function joinAt(address: string, { echoMsMax = 60_000, ...login }: Partial<ValkeyBusOptions> = {}) {
  const heard: string[] = [];
  let gaps = 0;
  const wakes: (() => void)[] = [];
  const wake = () => {
    for (const one of wakes.splice(0)) one();
  };
  const bus = await openValkeyBus(
    { address, echoMsMax, ...login },
    {
      onText(text) {
        heard.push(text);
        wake();
      },
      onGap() {
        gaps++;
        wake();
      },
    },
  );
  onTestFinished(() => bus.close());
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => wakes.push(resolve));
  };
  const hears = (text: string) => until(() => heard.includes(text));
  return { bus, hears, gaps: () => gaps, gap: (count: number) => until(() => gaps >= count) };
}

it('[MANY-16] servers on one Valkey receive messages of each other, and a lost connection is reported as a gap and restored', async () => {
  const server = await startValkey();
  onTestFinished(() => server.remove());
  const [one, two] = [await joinAt(server.address), await joinAt(server.address)];
  one.bus.publish('hello');
  await two.hears('hello');
  expect([one.gaps(), two.gaps()]).toEqual([1, 1]);
  await server.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await Promise.all([one.gap(2), two.gap(2)]);
  two.bus.publish('again');
  await one.hears('again');
  await server.kill();
  one.bus.publish('into nothing');
  await server.restart();
  await Promise.all([one.gap(3), two.gap(3)]);
  await untilHeard(one.bus, two);
});

it('[MANY-16] a server that does not receive its own messages subscribes again', async () => {
  const server = await startValkey();
  onTestFinished(() => server.remove());
  const proxy = await openLossyProxy(server.port);
  const [one, two] = [await joinAt(proxy.address, { echoMsMax: 1_000 }), await joinAt(server.address)];
  expect(one.gaps()).toBe(1);
  proxy.dropMessages();
  one.bus.publish('is anybody there?');
  await two.hears('is anybody there?');
  await one.gap(2);
  await untilHeard(two.bus, one);
});

it('[MANY-16] in a cluster a server can publish at one node and subscribe at another', async () => {
  const cluster = await startValkeyCluster();
  onTestFinished(() => cluster.remove());
  const [first, ...others] = cluster.servers;
  const one = await joinAt(cluster.address);
  const ports = others.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const two = await joinAt(`valkey+cluster://${ports}`);
  one.bus.publish('round');
  await two.hears('round');
  two.bus.publish('and back');
  await one.hears('and back');
  const before = one.gaps();
  await first?.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await one.gap(before + 1);
  await untilHeard(two.bus, one);
});

it('[MANY-16] in a cluster messages arrive after a primary was replaced by its replica, or has died', async () => {
  const cluster = await startValkeyCluster({ appendonly: 'no' });
  onTestFinished(() => cluster.remove());
  const speaking = await cluster.ownerOf('tidemark:bus');
  const listening = cluster.servers[0] ?? speaking;
  const replica = await cluster.addReplica(speaking);
  const [one, two] = [await joinAt(cluster.address), await joinAt(cluster.address)];
  await replica.call('CLUSTER', 'FAILOVER');
  await untilHeard(one.bus, two, 'by the new primary');
  await untilHeard(two.bus, one, 'and back');
  // Both subscribe at the first node, which dies for good. Both report a gap for the messages lost meanwhile.
  const gaps = [one.gaps(), two.gaps()] as const;
  await listening.kill();
  await Promise.all([one.gap(gaps[0] + 1), two.gap(gaps[1] + 1)]);
  await untilHeard(one.bus, two, 'after a death');
  await untilHeard(two.bus, one, 'and back again');
});

it('[MANY-16] [VALKEY-25] in a cluster messages arrive through the replica of the only named node, which has died', async () => {
  const cluster = await startValkeyCluster({ appendonly: 'no' });
  onTestFinished(() => cluster.remove());
  const named = await cluster.ownerOf('tidemark:bus');
  const others = cluster.servers.filter((server) => server !== named);
  const replica = await cluster.addReplica(named);
  // A node with an unknown host name does not keep the bus from finding the other.
  const address = `valkey+cluster://nowhere.invalid:1,127.0.0.1:${named.port}`;
  const [one, two] = [await joinAt(address), await joinAt(address)];
  const store = await openValkeyStore({ address });
  onTestFinished(() => store.close());
  await named.kill();
  await untilHeard(one.bus, two, 'after a death');
  await untilHeard(two.bus, one, 'and back');
  const count = () => store.countEntries('user');
  await untilServed(count);
  // A store that loses all connections at once must find the cluster again.
  const hangUp = async (server: ValkeyServer) => {
    for (const kind of ['pubsub', 'normal']) await server.call('CLIENT', 'KILL', 'TYPE', kind);
  };
  await Promise.all([...others, replica].map(hangUp));
  expect(await untilServed(count)).toBe(0);
  await untilHeard(one.bus, two, 'once more');
});

it('[MANY-16] [VALKEY-24] behind sentinels with a password the bus follows a primary that hangs, and finds it after the sentinels were away', async () => {
  const sentinel = await startValkeySentinel(1, { password: 'barnacle' });
  onTestFinished(() => sentinel.remove());
  const login = { sentinelPassword: 'barnacle' };
  const [one, two] = [await joinAt(sentinel.address, login), await joinAt(sentinel.address, login)];
  await expect(joinAt(sentinel.address)).rejects.toThrow(/^the sentinels refuse/);
  await untilHeard(one.bus, two, 'hello');
  process.kill(sentinel.primary.pid, 'SIGSTOP');
  await untilHeard(two.bus, one, 'by the new primary');
  await untilHeard(one.bus, two, 'and back');
  await sentinel.stopSentinel();
  const gaps = [one.gaps(), two.gaps()] as const;
  const closedPort = await resetConnectionsAt(Number(/:(\d+)\//.exec(sentinel.address)?.[1]));
  await sentinel.replicas[0]?.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await closedPort.called(2);
  await sentinel.startSentinel();
  await Promise.all([one.gap(gaps[0] + 1), two.gap(gaps[1] + 1)]);
  await untilHeard(one.bus, two, 'again');
});

it('[VALKEY-27] connections to sentinels do not pile up when others reconnect, print nothing while a sentinel is away, and are closed', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  const sentinel = await startValkeySentinel(0);
  onTestFinished(() => sentinel.remove());
  const one = await joinAt(sentinel.address);
  // One for the connection that publishes, and one for the subscriber.
  await sentinel.untilWatched(2);
  for (let gap = 2; gap <= 4; gap++) {
    await sentinel.primary.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await one.gap(gap);
  }
  await sentinel.untilWatched(2);
  await sentinel.stopSentinel();
  const closedPort = await resetConnectionsAt(Number(/:(\d+)\//.exec(sentinel.address)?.[1]));
  await closedPort.called(6);
  await sentinel.startSentinel();
  await sentinel.untilWatched(2);
  await one.bus.close();
  await sentinel.untilWatched(0);
  expect(said).not.toHaveBeenCalled();
});

/** Publishes again and again, because a message that is published during a reconnection may be lost. */
async function untilHeard(
  bus: { publish(text: string): void },
  { hears }: { hears(text: string): Promise<void> },
  text = 'at last',
) {
  const repeating = setInterval(() => bus.publish(text), 50);
  try {
    await hears(text);
  } finally {
    clearInterval(repeating);
  }
}

/** Listens at a port and resets every connection. */
async function resetConnectionsAt(port: number) {
  let calls = 0;
  let wake = () => {};
  const server = createServer((socket) => {
    socket.resetAndDestroy();
    calls++;
    wake();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  /** Waits for the given number of connections, then stops listening. */
  const called = async (count: number) => {
    while (calls < count) await new Promise<void>((resolve) => (wake = resolve));
    await new Promise((resolve) => server.close(resolve));
  };
  return { called };
}

/** A proxy to a server that can drop all messages to subscribers and keep their connections open. */
async function openLossyProxy(port: number) {
  const subscribers = new Set<Socket>();
  const dropped = new Set<Socket>();
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = createConnection(port, '127.0.0.1');
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near.on('data', (bytes) => {
      if (/subscribe/i.test(bytes.toString())) subscribers.add(near);
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!dropped.has(near)) near.write(bytes);
    });
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const address = `valkey://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const dropMessages = () => {
    for (const socket of subscribers) dropped.add(socket);
  };
  return { address, dropMessages };
}
