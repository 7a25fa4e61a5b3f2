import { useSyncStatus, useUploads } from '@tidemark/react';
import type { DemoState } from './demo-server.ts';
import type { Seat } from './devices.ts';
import { NetworkToggle } from './network-toggle.tsx';
import { NewOrder } from './new-order.tsx';
import { OrderList } from './order-list.tsx';
import { PendingChanges } from './pending-changes.tsx';
import { Problems } from './problems.tsx';
import { TideGauge } from './tide-gauge.tsx';
import { Toasts } from './toasts.tsx';

interface DevicePanelProps {
  readonly seat: Seat;
  readonly levels: DemoState['levels'];
  readonly isChosen: boolean;
  readonly chosenOrder: string | null;
  readonly onOrder: (id: string | null) => void;
}

/** One device: who has it, what it knows, and what it still has to tell. */
export function DevicePanel({ seat, levels, isChosen, chosenOrder, onOrder }: DevicePanelProps) {
  const { clientId, isOnline, userId } = useSyncStatus();
  const level = clientId === null ? undefined : levels[clientId];
  return (
    <section
      className={`device ${seat.login} ${isChosen ? 'chosen' : ''}`}
      aria-label={seat.name}
      data-online={isOnline}
    >
      <Toasts device={seat.device} />
      <header className="device-head">
        <span className="avatar" aria-hidden="true">
          {initialsOf(seat.name)}
        </span>
        <div className="who">
          <h2>{seat.name}</h2>
          <p className="place">{seat.place}</p>
        </div>
        <NetworkToggle seat={seat} />
      </header>
      <TideGauge level={level} isOnline={isOnline} />
      <Activity />
      <Problems />
      <PendingChanges />
      {userId !== null && <NewOrder seat={seat} onOrder={onOrder} />}
      <OrderList seat={seat} chosenOrder={chosenOrder} onOrder={onOrder} />
    </section>
  );
}

/** One line about what the device is doing. */
function Activity() {
  const { mode, isLive, isOnline, error } = useSyncStatus();
  const waiting = useUploads().length;
  const text = isOnline ? onlineText(mode, isLive, error !== null) : 'Offline. Everything still works.';
  return (
    <p className="activity" role="status">
      {text}
      {waiting > 0 && <strong>{` ${waiting} ${waiting === 1 ? 'change waits' : 'changes wait'}.`}</strong>}
    </p>
  );
}

function onlineText(mode: string, isLive: boolean, hasFailed: boolean): string {
  if (mode === 'signed_out') return 'Signing in…';
  if (mode === 'backing_off' || hasFailed) return 'No connection to the server, trying again.';
  if (mode === 'pushing') return 'Sending…';
  if (mode === 'pulling') return 'Receiving…';
  return isLive ? 'Up to date, changes arrive live.' : 'No connection to the server, trying again.';
}

function initialsOf(name: string): string {
  return name
    .split(' ')
    .map((word) => word[0])
    .join('');
}
