import { errorMessage } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import { importAddress } from './import-address.ts';

type NetworkModule = typeof import('./network.ts');

export type LoadNetwork = (platform: Platform) => Promise<NetworkModule>;

/** Loads the part of the SDK that uses the network. Rejects with `unreachable` if that fails; it can be tried again. */
export const loadNetwork: LoadNetwork = async (platform) => {
  try {
    return await import('./network.ts').catch((error: unknown) => loadAgain(platform, error));
  } catch (error) {
    throw clientError('unreachable', 'the part of the SDK that uses the network could not be loaded', error);
  }
};

/**
 * Chromium does not fetch a module again that it could not load once, until the page is loaded again. So another address of
 * the same file is used; only the message of the error has it.
 */
function loadAgain(platform: Platform, error: unknown): Promise<NetworkModule> {
  const address = /https?:\/\/\S+/.exec(errorMessage(error))?.[0];
  if (address === undefined) throw error;
  const again = `${address}${address.includes('?') ? '&' : '?'}at=${platform.nowMs()}`;
  return importAddress(again) as Promise<NetworkModule>;
}
