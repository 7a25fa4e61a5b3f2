import { useMutation, useObject, useQuery } from '@tidemark/react';
import type { Part, PartUse } from './types.ts';

interface PartsUsedProps {
  readonly orderId: string;
  readonly canBook: boolean;
}

/** The parts booked on a work order. The stock is on the price list that all crews share; the backend refuses more. */
export function PartsUsed({ orderId, canBook }: PartsUsedProps) {
  const uses = useQuery<PartUse>('PartUse', { where: { work_order_id: orderId } });
  return (
    <section className="parts" aria-label="Parts">
      {uses.length > 0 && (
        <ul>
          {uses.map(({ id, attributes, isPending }) => (
            <li key={id}>
              <PartName id={attributes.part_id} quantity={attributes.quantity} />
              {isPending && <span className="chip waiting">not sent</span>}
            </li>
          ))}
        </ul>
      )}
      {canBook && <BookPart orderId={orderId} />}
    </section>
  );
}

function PartName({ id, quantity }: { readonly id: string; readonly quantity: number }) {
  const part = useObject<Part>('Part', id);
  return `${quantity} × ${part?.attributes.name ?? id}`;
}

function BookPart({ orderId }: { readonly orderId: string }) {
  const parts = useQuery<Part>('Part', { orderBy: 'name' });
  const book = useMutation((device, form: FormData) =>
    device.source<PartUse>('PartUse').create({
      // A temporary id is fine: the reference follows when the backend has numbered the order.
      work_order_id: orderId,
      part_id: String(form.get('part')),
      quantity: Number(form.get('quantity')),
    }),
  );
  return (
    <form className="book" action={book.mutate}>
      <input name="quantity" aria-label="Quantity" type="number" min={1} max={99} defaultValue={1} />
      <select name="part" aria-label="Part">
        {parts.map(({ id, attributes }) => (
          <option key={id} value={id}>
            {`${attributes.name} (${attributes.stock} left)`}
          </option>
        ))}
      </select>
      <button type="submit">Book</button>
    </form>
  );
}
