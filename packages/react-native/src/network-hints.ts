import type { NetworkHints } from '@tidemark/client';

/** What `netInfo` uses of `@react-native-community/netinfo`. */
export interface NetInfoLike {
  /** Calls back with the state of now, too. */
  addEventListener(listener: (state: NetInfoState) => void): () => void;
}

export interface NetInfoState {
  readonly type: string;
  readonly isConnected: boolean | null;
  readonly details?: { readonly isConnectionExpensive?: boolean } | null;
}

/** What `expoNetwork` uses of `expo-network`. */
export interface ExpoNetworkLike {
  getNetworkStateAsync(): Promise<ExpoNetworkState>;
  addNetworkStateListener(listener: (state: ExpoNetworkState) => void): { remove(): void };
}

export interface ExpoNetworkState {
  readonly type?: string;
  readonly isConnected?: boolean;
}

/** Network hints of `@react-native-community/netinfo`. */
export function netInfo(library: NetInfoLike): NetworkHints {
  return hintsOf((onState) => {
    library.addEventListener(({ type, isConnected, details }) =>
      onState({
        isOnline: isConnected !== false,
        isMetered: details?.isConnectionExpensive ?? type === 'cellular',
      }),
    );
  });
}

/** Network hints of `expo-network`. */
export function expoNetwork(library: ExpoNetworkLike): NetworkHints {
  return hintsOf((onState) => {
    // With a type that it does not know, the library says "not connected" without knowing that either.
    const take = ({ type, isConnected }: ExpoNetworkState) =>
      onState({ isOnline: isConnected !== false || type === 'UNKNOWN', isMetered: type === 'CELLULAR' });
    let isOlder = false;
    library.addNetworkStateListener((state) => {
      isOlder = true;
      take(state);
    });
    // Unknown counts as online: the device finds out by itself.
    library.getNetworkStateAsync().then(
      (state) => {
        if (!isOlder) take(state);
      },
      () => undefined,
    );
  });
}

interface State {
  readonly isOnline: boolean;
  readonly isMetered: boolean;
}

/** Not `isInternetReachable` of the libraries: it asks servers of others, and a server of one's own may be in a network without them. */
function hintsOf(listen: (onState: (state: State) => void) => void): NetworkHints {
  const listeners = new Set<() => void>();
  let state: State = { isOnline: true, isMetered: false };
  listen((next) => {
    const isSame = next.isOnline === state.isOnline && next.isMetered === state.isMetered;
    state = next;
    if (!isSame) for (const listener of [...listeners]) listener();
  });
  return {
    isOnline: () => state.isOnline,
    isMetered: () => state.isMetered,
    onChange: (listener) => {
      // The same function may listen twice.
      const own = () => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
  };
}
