import { useSyncExternalStore } from 'react';
import type { Seat } from './devices.ts';
import { useTour } from './tour.tsx';

/** The switch of the device's network. */
export function NetworkToggle({ seat: { name, network } }: { readonly seat: Seat }) {
  const isOn = useSyncExternalStore(network.onChange, network.isOnline);
  const { mark } = useTour();
  const toggle = () => {
    if (isOn) mark('offline');
    network.set(!isOn);
  };
  return (
    <button
      type="button"
      role="switch"
      className="network"
      aria-checked={isOn}
      aria-label={`Network of ${name}`}
      onClick={toggle}
    >
      <span className="network-text">{isOn ? 'Online' : 'Offline'}</span>
      <span className="track" aria-hidden="true" />
    </button>
  );
}
