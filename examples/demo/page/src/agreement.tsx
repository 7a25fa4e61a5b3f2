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

/** Says whether all devices show what the database has, attribute by attribute, and nobody has to decide anything. */
export function Agreement({ seats, orders, keeper }: AgreementProps) {
  useChanges(seats);
  const differing = seats.filter((seat) => orders === null || shownBy(seat) !== expectedOf(seat, orders));
  const undecided = seats.filter(({ device }) => device.problems.list().length > 0);
  const isAgreed = differing.length === 0 && undecided.length === 0;
  const namesOf = (some: readonly Seat[]) => some.map(({ name }) => name).join(', ');
  const open =
    differing.length > 0 ? `Not the same yet: ${namesOf(differing)}` : `To be resolved: ${namesOf(undecided)}`;
  return (
    <p className="agreement" role="status" data-agreed={isAgreed}>
      {isAgreed ? `All devices and the ${keeper} agree` : open}
    </p>
  );
}

/** Renders again when a work order or a problem of any device changes. */
function useChanges(seats: readonly Seat[]): void {
  const [, setChanges] = useState(0);
  useEffect(() => {
    const onChange = () => setChanges((count) => count + 1);
    const stops = seats.flatMap(({ device }) =>
      [device.source('WorkOrder'), device.problems].map((observable) => observable.subscribe(onChange)),
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
