import { type Device, type DeviceOptions, openDevice } from '@tidemark/client';
import { InProcessSync, type SyncExchange } from '@tidemark/client-testing';
import type { Tidemark } from '@tidemark/core';
import { type Limits, parseJson } from '@tidemark/protocol';
import { newTidemark } from '../kit/new-tidemark.ts';
import { VirtualPlatform } from './virtual-platform.ts';

/** Intercepts a request. `forward` sends it to the server and resolves to the answer; undefined lets it pass. */
export type Interceptor = (
  exchange: SyncExchange,
  go: () => Promise<Response>,
  init: RequestInit,
) => Promise<Response> | undefined;

export interface DeviceFixture {
  readonly tidemark: Tidemark;
  readonly sync: InProcessSync;
  readonly platform: VirtualPlatform;
  /** A test may replace it to inject a fault. */
  intercept: Interceptor;
  /** Opens a device, signed in unless `user` is null. It has no event stream unless `live` is set. */
  open(options?: Partial<DeviceOptions> & { readonly user?: string | null }): Promise<Device>;
  /** Waits for a promise while virtual time passes. */
  finish<T>(promise: Promise<T>): Promise<T>;
}

/** Returns a server, a network and a clock for devices in this process, which the test controls. */
export async function newDeviceFixture(
  options: { readonly limits?: Partial<Limits>; readonly seed?: number } = {},
): Promise<DeviceFixture> {
  const { tidemark } = await newTidemark({ limits: options.limits ?? {} });
  const fixture = { intercept: (() => undefined) as Interceptor };
  const platform: VirtualPlatform = new VirtualPlatform((url, init) => carry(url, init), options.seed);
  const sync = new InProcessSync(tidemark, () => platform.nowMs());
  const carry = async (url: string, init: RequestInit) => {
    const go = () => sync.fetch(url, init);
    const exchange = {
      method: init.method ?? 'GET',
      path: new URL(url).pathname.slice('/sync/v1'.length),
      body: bodyOf(init),
    };
    return (await fixture.intercept(exchange, go, init)) ?? go();
  };
  const finish = <T>(promise: Promise<T>) => platform.finish(promise);
  const open: DeviceFixture['open'] = async ({ user = 'ada', ...device } = {}) => {
    const opened = await openDevice({ url: 'http://tidemark.test', platform, live: false, ...device });
    if (user !== null) await finish(opened.signIn({ login: user, password: 'long enough' }));
    return opened;
  };
  return Object.assign(fixture, { tidemark, sync, platform, open, finish });
}

function bodyOf({ body }: RequestInit): unknown {
  return typeof body === 'string' ? parseJson(body) : undefined;
}
