import type { DeviceEvents } from '@tidemark/client';
import { TidemarkProvider } from '@tidemark/react';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Agreement } from './agreement.tsx';
import { BackendTable } from './backend-table.tsx';
import { type Session, useDemoState } from './demo-server.ts';
import { DevicePanel } from './device-panel.tsx';
import type { Seat } from './devices.ts';
import icon from './icon.svg';
import { ServerControl } from './server-control.tsx';
import { Tabs } from './tabs.tsx';
import { Tour, TourProvider } from './tour.tsx';

interface AppProps {
  readonly session: Session;
  readonly seats: readonly Seat[];
}

/** A dispatcher and two crews side by side; on a phone, one of them at a time. */
export function App({ session, seats }: AppProps) {
  const state = useDemoState(session.instance, seats.map(useClientId));
  const [chosenSeat, chooseSeat] = useState(seats[0]?.login ?? '');
  // The chosen work order opens on every device that has it: conflicts are easier to see side by side.
  const [chosenOrder, chooseOrder] = useState<string | null>(null);
  const server = state?.server ?? 'starting';

  useEffect(() => {
    if (server === 'running') for (const { reconnect } of seats) void reconnect();
  }, [server, seats]);

  // The backend gives an order that was made on a device its number: the order that was open stays open.
  useEffect(() => {
    const follow = ({ from, to }: DeviceEvents['linked']) => chooseOrder((now) => (now === from ? to : now));
    const stops = seats.map(({ device }) => device.on('linked', follow));
    return () => {
      for (const stop of stops) stop();
    };
  }, [seats]);

  return (
    <TourProvider>
      <header className="top">
        <div className="brand">
          <img src={icon} alt="" width="36" height="36" />
          <div>
            <h1>Tidemark</h1>
            <p>
              Three devices, one server, {session.command === null ? 'one backend' : 'one database'}. Break something.
            </p>
          </div>
        </div>
        <Agreement
          seats={seats}
          orders={state?.orders ?? null}
          keeper={session.command === null ? 'backend' : 'database'}
        />
        <ServerControl state={server} />
      </header>
      <Tour seats={seats} server={server} onOrder={chooseOrder} />
      <Tabs seats={seats} chosen={chosenSeat} onChoose={chooseSeat} />
      <main className="devices">
        {seats.map((seat) => (
          <TidemarkProvider key={seat.login} device={seat.device}>
            <DevicePanel
              seat={seat}
              levels={state?.levels ?? {}}
              isChosen={seat.login === chosenSeat}
              chosenOrder={chosenOrder}
              onOrder={chooseOrder}
            />
          </TidemarkProvider>
        ))}
      </main>
      <BackendTable orders={state?.orders ?? []} command={session.command} />
      <footer className="foot">
        Each device has its own IndexedDB database and its own connection to Tidemark. Look at them in{' '}
        <a href={`${session.url}/console/`} target="_blank" rel="noreferrer">
          the console
        </a>{' '}
        beside this page: log in as admin with <code>{session.adminPassword}</code>. The source is in examples/demo.
      </footer>
    </TourProvider>
  );
}

function useClientId({ device }: Seat): string | null {
  return useSyncExternalStore(device.status.subscribe, () => device.status.getSnapshot().clientId);
}
