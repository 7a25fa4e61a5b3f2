import { createContext, createElement, type ReactElement, type ReactNode, useContext } from 'react';
import { readPromise } from './read-promise.ts';
import type { RegisteredDevice } from './register.ts';

export interface TidemarkProviderProps {
  /**
   * The device, or the promise of `openDevice`: then components that use it suspend until it is open. Null while a server
   * renders: then there is no data. Make it once, outside of components.
   */
  readonly device: RegisteredDevice | Promise<RegisteredDevice> | null;
  readonly children?: ReactNode;
}

const DeviceContext = createContext<TidemarkProviderProps['device'] | undefined>(undefined);

/** Gives a device to the components inside. */
export function TidemarkProvider({ device, children }: TidemarkProviderProps): ReactElement {
  return createElement(DeviceContext.Provider, { value: device }, children);
}

/** Returns the device; null while a server renders. */
export function useMaybeDevice(): RegisteredDevice | null {
  const device = useContext(DeviceContext);
  if (device === undefined) throw new Error('this component is not inside a <TidemarkProvider>');
  return device instanceof Promise ? readPromise(device) : device;
}

/** Returns the device of the nearest `TidemarkProvider`. */
export function useDevice(): RegisteredDevice {
  const device = useMaybeDevice();
  if (device === null) throw new Error('the <TidemarkProvider> has no device: use it in effects and events only');
  return device;
}
