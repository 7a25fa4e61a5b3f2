import { type Device, type DeviceOptions, openDevice } from '@tidemark/client';
import type { Tidemark } from '@tidemark/core';
import { type Limits, parseJson } from '@tidemark/protocol';
import { newTidemark } from '../kit/new-tidemark.ts';
import { InProcessSync, type SyncExchange } from './in-process-sync.ts';
import { VirtualPlatform } from './virtual-platform.ts';

/** What may happen to a request on its way. `go` carries it to the server and resolves to the answer. */
export type Meddler = (
  exchange: SyncExchange,
  go: () => Promise<Response>,
  init: RequestInit,
) => Promise<Response> | undefined;

export interface DeviceWorld {
  readonly tidemark: Tidemark;
  readonly sync: InProcessSync;
  readonly platform: VirtualPlatform;
  /** Where a test may put a fault; undefined from it lets the request pass. */
  meddle: Meddler;
  /** A device, signed in unless `user` is null. It asks nobody to tell it of changes unless `live` is set. */
  open(options?: Partial<DeviceOptions> & { readonly user?: string | null }): Promise<Device>;
  /** Waits for a promise while the world goes on. */
  finish<T>(promise: Promise<T>): Promise<T>;
}

/** A server, a network and a clock for devices, all in this process and at the test's command. */
export async function newDeviceWorld(
  options: { readonly limits?: Partial<Limits>; readonly seed?: number } = {},
): Promise<DeviceWorld> {
  const { tidemark } = await newTidemark({ limits: options.limits ?? {} });
  const world = { meddle: (() => undefined) as Meddler };
  const platform: VirtualPlatform = new VirtualPlatform((url, init) => carry(url, init), options.seed);
  const sync = new InProcessSync(tidemark, () => platform.nowMs());
  const carry = async (url: string, init: RequestInit) => {
    const go = () => sync.fetch(url, init);
    const exchange = {
      method: init.method ?? 'GET',
      path: new URL(url).pathname.slice('/sync/v1'.length),
      body: bodyOf(init),
    };
    return (await world.meddle(exchange, go, init)) ?? go();
  };
  const finish = <T>(promise: Promise<T>) => platform.finish(promise);
  const open: DeviceWorld['open'] = async ({ user = 'ada', ...device } = {}) => {
    const opened = await openDevice({ url: 'http://tidemark.test', platform, live: false, ...device });
    if (user !== null) await finish(opened.signIn({ login: user, password: 'long enough' }));
    return opened;
  };
  return Object.assign(world, { tidemark, sync, platform, open, finish });
}

function bodyOf({ body }: RequestInit): unknown {
  return typeof body === 'string' ? parseJson(body) : undefined;
}
