import type { SyncedObject } from '@tidemark/client';
import { useQuery } from '@tidemark/react';
import { useEffect, useRef, useState } from 'react';
import type { Seat } from './devices.ts';
import { OrderEditor } from './order-editor.tsx';
import { CREWS, STATUS_NAMES, type WorkOrder } from './types.ts';

const MARGIN_PX = 8;

interface OrderListProps {
  readonly seat: Seat;
  readonly chosenOrder: string | null;
  readonly onOrder: (id: string | null) => void;
}

/** The work orders of the device, from its own database. The list follows every change, made here or elsewhere. */
export function OrderList({ seat, chosenOrder, onOrder }: OrderListProps) {
  // What is done goes to the end. An order that was made here has no status until the backend has answered.
  const toDo = useQuery<WorkOrder>('WorkOrder', { where: { status: { ne: 'done' } }, orderBy: 'due_on' });
  const done = useQuery<WorkOrder>('WorkOrder', { where: { status: 'done' }, orderBy: 'due_on' });
  return (
    <ul className="orders" aria-label={`Work orders of ${seat.name}`}>
      {[...toDo, ...done].map((order) => (
        <OrderCard
          key={order.id}
          seat={seat}
          order={order}
          isOpen={order.id === chosenOrder}
          onToggle={() => onOrder(order.id === chosenOrder ? null : order.id)}
        />
      ))}
    </ul>
  );
}

interface OrderCardProps {
  readonly seat: Seat;
  readonly order: SyncedObject<WorkOrder>;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function OrderCard({ seat, order, isOpen, onToggle }: OrderCardProps) {
  const { id, attributes, isPending } = order;
  const [arrivals, clearArrivals] = useArrivals(order);
  const card = useRef<HTMLLIElement>(null);
  // It may have been chosen on another device.
  useEffect(() => {
    if (isOpen && card.current !== null) showInList(card.current);
  }, [isOpen]);
  // An order made on this device has only some attributes until the backend has answered.
  const { title, technician, customer, status = 'open', priority = 'normal', notes = '' } = attributes;
  return (
    <li
      ref={card}
      className={isOpen ? 'order expanded' : 'order'}
      data-order={id}
      data-status={status}
      data-pending={isPending}
    >
      {arrivals > 0 && <span key={arrivals} className="flash" aria-hidden="true" onAnimationEnd={clearArrivals} />}
      <button type="button" className="order-head" aria-expanded={isOpen} onClick={onToggle}>
        <span className="order-title">
          {priority === 'high' && (
            <span className="flag" role="img" aria-label="High priority">
              !
            </span>
          )}
          {title}
        </span>
        <span className="order-meta">
          {seat.isDispatcher && technician !== undefined && (
            <span className={`crew ${technician}`}>{CREWS[technician] ?? technician}</span>
          )}
          <span className={`status ${status}`}>{STATUS_NAMES[status]}</span>
          {isPending && <span className="chip waiting">not sent</span>}
          {customer != null && <span className="customer">{customer}</span>}
        </span>
        {!isOpen && notes !== '' && <span className="order-notes">{notes}</span>}
      </button>
      {isOpen && <OrderEditor seat={seat} order={order} />}
    </li>
  );
}

/** Counts the changes of an order that came from elsewhere, so that each of them can be shown by a flash. */
function useArrivals({ attributes, isPending }: SyncedObject<WorkOrder>): [number, () => void] {
  const [arrivals, setArrivals] = useState(0);
  const before = useRef({ attributes, isPending });
  useEffect(() => {
    // The attributes are the same value until they change.
    const hasChanged = attributes !== before.current.attributes;
    if (hasChanged && !isPending && !before.current.isPending) setArrivals((count) => count + 1);
    before.current = { attributes, isPending };
  }, [attributes, isPending]);
  return [arrivals, () => setArrivals(0)];
}

/** Scrolls the list until the card is visible. `scrollIntoView` would scroll the whole page as well. */
function showInList(card: HTMLElement): void {
  const list = card.parentElement;
  if (list === null) return;
  const lowest = card.offsetTop - MARGIN_PX;
  const highest = card.offsetTop + card.offsetHeight + MARGIN_PX - list.clientHeight;
  list.scrollTop = Math.min(lowest, Math.max(highest, list.scrollTop));
}
