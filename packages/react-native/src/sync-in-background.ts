import { ClientError, type Device, defaultPlatform } from '@tidemark/client';

/** How a sync in the background ended: `out_of_time` also if the device could not be opened in time. */
export type BackgroundSync = 'synced' | 'signed_out' | 'failed' | 'out_of_time';

/**
 * Syncs within the seconds that the system grants an app in the background, and says how far that came. It never rejects. What is not
 * finished in time goes on when the app runs again; nothing is lost. The device stays open, because the app may be using it.
 */
export async function syncInBackground(
  device: Device | Promise<Device>,
  { maxMs }: { readonly maxMs: number },
): Promise<BackgroundSync> {
  const controller = new AbortController();
  let cancel: () => void = () => undefined;
  const timeUp = new Promise<BackgroundSync>((resolve) => {
    cancel = defaultPlatform().after(maxMs, () => {
      controller.abort();
      resolve('out_of_time');
    });
  });
  try {
    return await Promise.race([syncOnce(device, controller.signal), timeUp]);
  } finally {
    cancel();
  }
}

async function syncOnce(device: Device | Promise<Device>, signal: AbortSignal): Promise<BackgroundSync> {
  try {
    const opened = await device;
    if (!signal.aborted) await opened.sync({ signal });
    return 'synced';
  } catch (error) {
    const code = error instanceof ClientError ? error.code : null;
    return code === 'signed_out' || code === 'sign_in_required' ? 'signed_out' : 'failed';
  }
}
