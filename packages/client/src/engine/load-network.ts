import { clientError } from '../client-error.ts';

export type LoadNetwork = () => Promise<typeof import('./network.ts')>;

/** Loads the part of the SDK that uses the network. Rejects with `unreachable` if that fails. */
export const loadNetwork: LoadNetwork = async () => {
  try {
    return await import('./network.ts');
  } catch (error) {
    throw clientError('unreachable', 'the part of the SDK that uses the network could not be loaded', error);
  }
};
