import { useMutation } from '@tidemark/react';
import type { Seat } from './devices.ts';
import { CREWS, depotOf, type WorkOrder } from './types.ts';

interface NewOrderProps {
  readonly seat: Seat;
  readonly onOrder: (id: string | null) => void;
}

/** Makes a work order, also offline. It has a temporary id until the backend has given it a number. */
export function NewOrder({ seat: { login, name, isDispatcher }, onOrder }: NewOrderProps) {
  const add = useMutation(async (device, form: FormData) => {
    const title = String(form.get('title')).trim();
    if (title === '') return;
    // A crew makes orders for itself; the backend decides about status and the rest.
    const technician = isDispatcher ? String(form.get('technician')) : login;
    const attributes = isDispatcher ? { title, technician } : { title };
    const options = { group: depotOf(technician) };
    const { id } = await device.source<Partial<WorkOrder>>('WorkOrder').create(attributes, options);
    onOrder(id);
  });
  return (
    <form className="new-order" action={add.mutate}>
      <input name="title" aria-label={`New work order of ${name}`} placeholder="New order" maxLength={80} />
      {isDispatcher && (
        <select name="technician" aria-label="Crew" defaultValue="crew-north">
          {Object.entries(CREWS).map(([crew, label]) => (
            <option key={crew} value={crew}>
              {label}
            </option>
          ))}
        </select>
      )}
      <button type="submit">Add</button>
    </form>
  );
}
