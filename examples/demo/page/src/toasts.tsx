import type { Device, DeviceEvents } from '@tidemark/client';
import { useEffect, useState } from 'react';
import { useTour } from './tour.tsx';

const SHOWN_MS = 12_000;

/** Shows pings as a phone does. The SDK also syncs the sources that a ping names. */
export function Toasts({ device }: { readonly device: Device }) {
  const [ping, setPing] = useState<DeviceEvents['ping'] | null>(null);
  const { mark } = useTour();
  useEffect(
    () =>
      device.on('ping', (received) => {
        setPing(received);
        mark('ping');
      }),
    [device, mark],
  );
  useEffect(() => {
    if (ping === null) return;
    const timer = setTimeout(() => setPing(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [ping]);
  return (
    <div className="toasts" role="alert">
      {ping !== null && (
        <div className="toast" key={ping.ping_id}>
          <div className="toast-text">
            <strong>Dispatch</strong>
            <p>{ping.message}</p>
          </div>
          <button type="button" aria-label="Dismiss" onClick={() => setPing(null)}>
            ×
          </button>
        </div>
      )}
    </div>
  );
}
