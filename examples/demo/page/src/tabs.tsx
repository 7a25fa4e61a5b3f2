import type { Device } from '@tidemark/client';
import { useSyncExternalStore } from 'react';
import type { Seat } from './devices.ts';

interface TabsProps {
  readonly seats: readonly Seat[];
  readonly chosen: string;
  readonly onChoose: (login: string) => void;
}

/** On a phone there is room for one device at a time. The others show by a number that something waits there. */
export function Tabs({ seats, chosen, onChoose }: TabsProps) {
  return (
    <nav className="tabs" aria-label="Devices">
      {seats.map(({ login, name, device }) => (
        <button key={login} type="button" aria-pressed={login === chosen} onClick={() => onChoose(login)}>
          {name} <Badge device={device} />
        </button>
      ))}
    </nav>
  );
}

function Badge({ device }: { readonly device: Device }) {
  const { problems, pendingUploads, isOnline } = useSyncExternalStore(
    device.status.subscribe,
    device.status.getSnapshot,
  );
  const count = problems + pendingUploads;
  const kind = problems > 0 ? 'conflict' : isOnline ? 'pending' : 'offline';
  return count > 0 || !isOnline ? <span className={`badge ${kind}`}>{count > 0 ? count : '–'}</span> : null;
}
