import { useEffect, useState } from 'react';
import type { BackendOrder } from './demo-server.ts';
import type { Seat } from './devices.ts';
import type { WorkOrder } from './types.ts';

interface AgreementProps {
  readonly seats: readonly Seat[];
  /** Null: not known yet. */
  readonly orders: readonly BackendOrder[] | null;
  /** What has the work orders. */
  readonly keeper: 'backend' | 'database';
}

/** Says whether all devices show what the database has, attribute by attribute, nothing waits, and nobody has to decide anything. */
export function Agreement({ seats, orders, keeper }: AgreementProps) {
  useChanges(seats);
  const differing = seats.filter((seat) => orders === null || shownBy(seat) !== expectedOf(seat, orders));
  const undecided = seats.filter(({ device }) => device.problems.list().length > 0);
  const open = [
    line('Not the same yet', differing),
    line('To be resolved', undecided),
    line('Not sent yet', seats.filter(hasUnsent)),
  ].find((text) => text !== null);
  return (
    <p className="agreement" role="status" data-agreed={open === undefined}>
      {open ?? `All devices and the ${keeper} agree`}
    </p>
  );
}

/** Null: there is no such device. */
function line(what: string, seats: readonly Seat[]): string | null {
  return seats.length === 0 ? null : `${what}: ${seats.map(({ name }) => name).join(', ')}`;
}

/** Whether a change or the bytes of a photo are still only on the device. The database has no photos, so it cannot tell. */
function hasUnsent({ device }: Seat): boolean {
  return device.status.getSnapshot().pendingUploads > 0 || device.files.waiting.getSnapshot().length > 0;
}

/** Renders again when a work order, a problem or what waits to be sent changes on any device. */
function useChanges(seats: readonly Seat[]): void {
  const [, setChanges] = useState(0);
  useEffect(() => {
    const onChange = () => setChanges((count) => count + 1);
    const stops = seats.flatMap(({ device }) =>
      [device.source('WorkOrder'), device.problems, device.status, device.files.waiting].map((observable) =>
        observable.subscribe(onChange),
      ),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }, [seats]);
}

function shownBy({ device }: Seat): string {
  const orders = device.source<WorkOrder>('WorkOrder').list();
  return comparable(orders.map(({ id, attributes }) => ({ ...attributes, id })));
}

function expectedOf({ login, isDispatcher }: Seat, orders: readonly BackendOrder[]): string {
  return comparable(orders.filter(({ technician }) => isDispatcher || technician === login));
}

function comparable(orders: readonly (Omit<BackendOrder, 'id'> & { readonly id: string | number })[]): string {
  const lines = orders.map((order) => {
    const { id, technician, title, status, priority, notes, hours } = order;
    return JSON.stringify([String(id), technician, title, status, priority, notes, hours]);
  });
  return lines.sort().join('\n');
}
