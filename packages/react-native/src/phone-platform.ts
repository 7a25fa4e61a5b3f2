import type { NetworkHints, Platform, Sha256Hash } from '@tidemark/client';
import { streamingFetch, type XhrLike } from './streaming-fetch.ts';

export interface PhoneOptions {
  /** Strong random bytes, such as `getRandomBytes` of `expo-crypto`. Not needed where `crypto.getRandomValues` exists. */
  readonly randomBytes?: (count: number) => Uint8Array;
  /** `expoNetwork(Network)` or `netInfo(NetInfo)`. Without it the device finds out by its requests. */
  readonly network?: NetworkHints;
  /** A `fetch` whose answers are streams, such as that of `expo/fetch`. Default: that of React Native, and streams by `XMLHttpRequest`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** A native hash for large photos, such as `createHash` of `react-native-quick-crypto`. Default: JavaScript computes it. */
  readonly sha256?: () => Sha256Hash;
}

/** Returns the `platform` of `openDevice` for a phone: what a browser has, and React Native has not. */
export function phonePlatform({ randomBytes, network, fetch, sha256 }: PhoneOptions = {}): Partial<Platform> {
  return {
    fetch: fetch ?? streamsOfReactNative(),
    network: network ?? null,
    // An app is alone; some polyfills bring a BroadcastChannel that connects nothing.
    tabs: null,
    ...(randomBytes === undefined ? {} : { randomBytes }),
    ...(sha256 === undefined ? {} : { sha256 }),
  };
}

function streamsOfReactNative() {
  const { XMLHttpRequest } = globalThis as unknown as { readonly XMLHttpRequest?: new () => XhrLike };
  const fetch = (url: string, init: RequestInit) => globalThis.fetch(url, init);
  return XMLHttpRequest === undefined ? fetch : streamingFetch({ fetch, XMLHttpRequest });
}
