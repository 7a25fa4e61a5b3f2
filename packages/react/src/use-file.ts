import type { AnyFile, Device, FileState, FileUrl } from '@tidemark/client';
import { useEffect, useMemo, useState } from 'react';
import { useMaybeDevice } from './provider.ts';
import { useObservable } from './use-data.ts';

/** A file as a component shows it. */
export interface ShownFile {
  /** An address for `src` and `href`; null: the file is not here yet. */
  readonly url: string | null;
  readonly state: FileState;
}

const MISSING: FileState = Object.freeze({ status: 'missing' });
const HERE: ReadonlySet<string> = new Set(['local', 'uploading', 'uploaded']);

/**
 * Shows a file, and fetches it if it is not on the device. What cannot be fetched now is fetched when there is a network, or when the
 * device has synced again. The address is released with the component.
 */
export function useFile(file: AnyFile | null | undefined): ShownFile {
  const found = useMaybeDevice();
  // Components make the value anew each time that they render.
  const key = file === null || file === undefined ? '' : JSON.stringify(file);
  const device = key === '' ? null : found;
  const observable = useMemo(() => device?.files.state(JSON.parse(key) as AnyFile) ?? null, [device, key]);
  const state = useObservable(observable, MISSING);
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => (device === null ? undefined : showFile(device, JSON.parse(key) as AnyFile, setUrl)), [device, key]);
  return { url, state };
}

/** Shows an address as soon as there is one, until the returned function is called. */
function showFile(device: Device, file: AnyFile, show: (url: string | null) => void): () => void {
  const state = device.files.state(file);
  let isGone = false;
  let shown: FileUrl | null = null;
  let failedAt: string | null = null;
  const ownerNow = () => {
    const { userId, clientId } = device.status.getSnapshot();
    return `${userId} ${clientId}`;
  };
  let owner = ownerNow();
  /** Changes when a file that could not be fetched may be there. */
  const chance = () => {
    const { isOnline, lastSyncedAtMs } = device.status.getSnapshot();
    return `${HERE.has(state.getSnapshot().status)} ${isOnline} ${lastSyncedAtMs}`;
  };
  const hide = () => {
    show(null);
    shown?.release();
    shown = null;
  };
  const attempt = async () => {
    const at = chance();
    failedAt = null;
    try {
      const found = await device.files.url(file);
      if (isGone || shown !== null) return found.release();
      shown = found;
      show(found.url);
    } catch {
      // The state says why.
      failedAt = at;
      look();
    }
  };
  const look = () => {
    if (owner !== ownerNow()) {
      // Signing out has released the address. Whoever signs in may see the file, or not.
      owner = ownerNow();
      hide();
      failedAt = '';
    }
    if (!isGone && failedAt !== null && failedAt !== chance()) void attempt();
  };
  const stops = [device.status.subscribe(look), state.subscribe(look)];
  void attempt();
  return () => {
    isGone = true;
    for (const stop of stops) stop();
    hide();
  };
}
