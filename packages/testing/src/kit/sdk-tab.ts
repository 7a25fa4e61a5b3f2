import { USER_PASSWORD } from './test-device.ts';

/** A page of `startSdkApp` in any browser. */
interface SdkTab {
  evaluate(expression: string): Promise<unknown>;
}

/**
 * Opens a device as the global `device` of the page, and its source Order as `orders`; tabs of one browser share the device.
 * Also waits for the network part. Without a bundler that is many files, and Chromium never loads one again that it could not
 * load because the test has cut the network. `before` is a script that runs first.
 */
export const startDevice = (tab: SdkTab, serverUrl: string, before = '') =>
  tab.evaluate(`(async () => {
    ${before}
    const { openDevice } = await import('@tidemark/client');
    const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
    globalThis.device = await openDevice({ url: ${JSON.stringify(serverUrl)}, store: await openIndexedDbStore() });
    globalThis.orders = device.source('Order');
    await import('/client/engine/network.js');
  })()`);

export const signIn = (tab: SdkTab, login: string) =>
  tab.evaluate(`device.signIn(${JSON.stringify({ login, password: USER_PASSWORD })}).then(() => device.sync())`);

/** Resolves when the condition holds for the device in the page. */
export const untilInTab = (tab: SdkTab, condition: string) =>
  tab.evaluate(`new Promise((resolve) => {
    const look = () => { if (${condition}) resolve(true); };
    for (const observable of [orders, device.status, device.uploads, device.problems]) observable.subscribe(look);
    look();
  })`);
