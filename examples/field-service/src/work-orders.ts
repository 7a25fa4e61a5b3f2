import { Conflict, Rejected, type SourceHandlers, sourceHandlers } from '@tidemark/backend';
import type { Database, Row, Value } from './database.ts';
import { once } from './once.ts';
import { note } from './outbox.ts';

export type WorkOrder = {
  readonly title: string;
  readonly customer: string | null;
  readonly address: string | null;
  readonly status: string;
  readonly priority: string;
  readonly due_on: string | null;
  readonly notes: string;
  readonly hours: number;
};

/** In the order in which a work order goes through them. */
const STATUSES = ['open', 'in_progress', 'done'];
/** What a technician may change; everything else is the office's. */
const OF_THE_TECHNICIAN = ['status', 'notes', 'hours'];

const SELECT = `
  SELECT work_orders.*, customers.name AS customer, customers.address
  FROM work_orders LEFT JOIN customers ON customers.id = customer_id
`;

export function workOrders(database: Database): SourceHandlers {
  return sourceHandlers<WorkOrder>({
    *query({ user_id }) {
      const rows = database.all(`${SELECT} WHERE technician = ? ORDER BY work_orders.id`, user_id);
      for (const row of rows) yield [Number(row.id), shown(row)];
    },

    create(call) {
      const { title, notes = '', hours = 0 } = call.attributes;
      if (typeof title !== 'string' || title.trim() === '') throw new Rejected('a work order needs a title');
      check({ notes, hours });
      return once(database, call, () => {
        const sql = 'INSERT INTO work_orders (technician, title, notes, hours, made_on_device) VALUES (?, ?, ?, ?, 1)';
        const { id } = database.run(sql, call.user_id, title.trim(), notes, hours);
        // The status and the rest of it were decided here, so the device has to be told.
        note(database, 'WorkOrder', call.user_id, id);
        return { id };
      });
    },

    update(call) {
      const strange = Object.keys(call.attributes).filter((name) => !OF_THE_TECHNICIAN.includes(name));
      if (strange.length > 0) throw new Rejected(`only the office changes ${strange.join(', ')}`);
      check(call.attributes);
      once(database, call, () => {
        const order = own(database, call);
        if (order.status === 'done') throw new Conflict(`work order ${call.id} is done already`);
        const { status = order.status, notes = order.notes, hours = order.hours } = call.attributes;
        const sql = 'UPDATE work_orders SET status = ?, notes = ?, hours = ? WHERE id = ?';
        database.run(sql, status as Value, notes as Value, hours as Value, Number(call.id));
      });
    },

    delete(call) {
      once(database, call, () => {
        const order = own(database, call);
        if (order.made_on_device === 0) throw new Rejected('the office planned this work order, so only it deletes it');
        if (order.status !== 'open') throw new Rejected('work has begun, so the work order stays');
        const uses = database.get('SELECT count(*) AS n FROM part_uses WHERE work_order_id = ?', Number(call.id));
        if (Number(uses?.n) > 0) throw new Rejected('parts were booked on it, so the work order stays');
        database.run('DELETE FROM work_orders WHERE id = ?', Number(call.id));
      });
    },
  });
}

/** As devices have it. */
export function lookAtWorkOrder(database: Database, user: string | null, id: string): WorkOrder | null {
  const row = database.get(`${SELECT} WHERE work_orders.id = ? AND technician = ?`, Number(id), user);
  return row === null ? null : shown(row);
}

function shown(row: Row): WorkOrder {
  return {
    title: String(row.title),
    customer: row.customer as string | null,
    address: row.address as string | null,
    status: String(row.status),
    priority: String(row.priority),
    due_on: row.due_on as string | null,
    notes: String(row.notes),
    hours: Number(row.hours),
  };
}

/** The order, if it is this technician's. Whose it is otherwise is nobody's business. */
export function own(
  database: Database,
  { id, user_id }: { readonly id: string; readonly user_id: string | null },
): Row {
  const order = database.get('SELECT * FROM work_orders WHERE id = ? AND technician = ?', Number(id), user_id);
  if (order === null) throw new Conflict(`work order ${id} is no longer yours`);
  return order;
}

/** A device may send anything. */
function check({ status, notes, hours }: Partial<WorkOrder>): void {
  if (status !== undefined && !STATUSES.includes(status)) throw new Rejected(`status must be ${STATUSES.join(', ')}`);
  if (notes !== undefined && typeof notes !== 'string') throw new Rejected('notes must be a text');
  if (hours !== undefined && !(typeof hours === 'number' && hours >= 0 && hours <= 1_000)) {
    throw new Rejected('hours must be a number from 0 to 1000');
  }
}
