import type { Device } from '@tidemark/client';

/** What `followAppState` uses of `AppState` of `react-native`. */
export interface AppStateLike {
  readonly currentState: string | null;
  addEventListener(type: 'change', listener: (state: string) => void): { remove(): void };
}

/**
 * Syncs when the app comes to the front. While it was behind, the system stopped its timers and closed its connections, and the pause
 * after a failure may be long. Returns the function that ends this.
 */
export function followAppState(device: Pick<Device, 'sync'>, appState: AppStateLike): () => void {
  let wasActive = appState.currentState === 'active';
  const subscription = appState.addEventListener('change', (state) => {
    const isActive = state === 'active';
    // Failures are shown by the status of the device.
    if (isActive && !wasActive) device.sync().catch(() => undefined);
    wasActive = isActive;
  });
  return () => subscription.remove();
}
