import { Conflict, Rejected, type SourceHandlers, sourceHandlers } from '@tidemark/backend';
import { type Call, isDispatcher, isTechnician, noteForOthers, VISIBLE } from './crews.ts';
import type { Database, Row, Value } from './database.ts';
import { once } from './once.ts';
import { note } from './outbox.ts';

export type WorkOrder = {
  readonly title: string;
  readonly technician: string;
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
const PRIORITIES = ['low', 'normal', 'high'];
/** What a technician may change, and what the dispatcher. Both write notes, so both can be in conflict about them. */
const OF_THE_TECHNICIAN = ['status', 'notes', 'hours'];
const OF_THE_DISPATCHER = ['technician', 'title', 'priority', 'due_on', 'notes'];

const SELECT = `
  SELECT work_orders.*, customers.name AS customer, customers.address
  FROM work_orders LEFT JOIN customers ON customers.id = customer_id
`;

export function workOrders(database: Database): SourceHandlers {
  return sourceHandlers<WorkOrder>({
    *query({ user_id }) {
      const rows = database.all(`${SELECT} WHERE ${VISIBLE} ORDER BY work_orders.id`, user_id);
      for (const row of rows) yield [Number(row.id), shown(row)];
    },

    create(call) {
      check(database, { ...call.attributes, title: call.attributes.title ?? '' });
      return once(database, call, () => {
        const id = insert(database, call);
        // The status and the rest of it were decided here, so the device has to be told as well.
        note(database, 'WorkOrder', call.user_id, id);
        noteForOthers(database, 'WorkOrder', { id, technician: technicianOf(call) }, call);
        return { id };
      });
    },

    update(call) {
      const allowed = isDispatcher(call) ? OF_THE_DISPATCHER : OF_THE_TECHNICIAN;
      const strange = Object.keys(call.attributes).filter((name) => !allowed.includes(name));
      const whose = isDispatcher(call) ? 'the technician' : 'the office';
      if (strange.length > 0) throw new Rejected(`only ${whose} changes ${strange.join(', ')}`);
      check(database, call.attributes);
      once(database, call, () => {
        const order = own(database, call);
        if (order.status === 'done') throw new Conflict(`work order ${call.id} is done already`);
        const { technician, ...changes } = call.attributes;
        for (const [name, value] of Object.entries(changes)) {
          database.run(`UPDATE work_orders SET ${name} = ? WHERE id = ?`, value as Value, Number(call.id));
        }
        if (technician !== undefined) assign(database, Number(call.id), technician, call);
        else noteForOthers(database, 'WorkOrder', { id: call.id, technician: String(order.technician) }, call);
      });
    },

    delete(call) {
      once(database, call, () => {
        const order = own(database, call);
        if (!isDispatcher(call) && order.made_on_device === 0) {
          throw new Rejected('the office planned this work order, so only it deletes it');
        }
        if (order.status !== 'open') throw new Rejected('work has begun, so the work order stays');
        const uses = database.get('SELECT count(*) AS n FROM part_uses WHERE work_order_id = ?', Number(call.id));
        if (Number(uses?.n) > 0) throw new Rejected('parts were booked on it, so the work order stays');
        database.run('DELETE FROM work_orders WHERE id = ?', Number(call.id));
        noteForOthers(database, 'WorkOrder', { id: call.id, technician: String(order.technician) }, call);
      });
    },
  });
}

/** Hands an order to somebody else: the one loses it with the parts on it, the other gets both. */
export function assign(database: Database, id: number, technician: string, call?: Call): void {
  const before = database.get('SELECT technician FROM work_orders WHERE id = ?', id);
  database.run('UPDATE work_orders SET technician = ? WHERE id = ?', technician, id);
  for (const who of [String(before?.technician), technician]) {
    noteForOthers(database, 'WorkOrder', { id, technician: who }, call);
    for (const use of database.all('SELECT id FROM part_uses WHERE work_order_id = ?', id)) {
      note(database, 'PartUse', who, Number(use.id));
    }
  }
}

function insert(database: Database, call: Call & { readonly attributes: Partial<WorkOrder> }): number {
  const { title = '', notes = '', hours = 0, priority = 'normal' } = call.attributes;
  const columns = 'technician, title, notes, hours, priority, made_on_device';
  const sql = `INSERT INTO work_orders (${columns}) VALUES (?, ?, ?, ?, ?, 1)`;
  return database.run(sql, technicianOf(call), title.trim(), notes, hours, priority).id;
}

/** A technician makes orders for himself, the dispatcher for a technician. */
function technicianOf(call: Call & { readonly attributes: Partial<WorkOrder> }): string {
  if (!isDispatcher(call)) return String(call.user_id);
  if (call.attributes.technician === undefined) throw new Rejected('a work order needs a technician');
  return call.attributes.technician;
}

/** As devices have it. */
export function lookAtWorkOrder(database: Database, user: string | null, id: string): WorkOrder | null {
  const row = database.get(`${SELECT} WHERE ${VISIBLE} AND work_orders.id = ?2`, user, Number(id));
  return row === null ? null : shown(row);
}

function shown(row: Row): WorkOrder {
  return {
    title: String(row.title),
    technician: String(row.technician),
    customer: row.customer as string | null,
    address: row.address as string | null,
    status: String(row.status),
    priority: String(row.priority),
    due_on: row.due_on as string | null,
    notes: String(row.notes),
    hours: Number(row.hours),
  };
}

/** The order, if the caller may see it. Whose it is otherwise is nobody's business. */
export function own(database: Database, { id, user_id }: Call): Row {
  const order = database.get(`SELECT * FROM work_orders WHERE ${VISIBLE} AND id = ?2`, user_id, Number(id));
  if (order === null) throw new Conflict(`work order ${id} is no longer yours`);
  return order;
}

/** A device may send anything. */
function check(database: Database, attributes: Partial<WorkOrder>): void {
  const { title, status, priority, technician, notes, hours } = attributes;
  if (title !== undefined && (typeof title !== 'string' || title.trim() === '')) {
    throw new Rejected('a work order needs a title');
  }
  if (status !== undefined && !STATUSES.includes(status)) throw new Rejected(`status must be ${STATUSES.join(', ')}`);
  if (priority !== undefined && !PRIORITIES.includes(priority)) {
    throw new Rejected(`priority must be ${PRIORITIES.join(', ')}`);
  }
  if (technician !== undefined && !isTechnician(database, technician)) {
    throw new Rejected(`there is no technician ${technician}`);
  }
  if (notes !== undefined && typeof notes !== 'string') throw new Rejected('notes must be a text');
  if (hours !== undefined && !(typeof hours === 'number' && hours >= 0 && hours <= 1_000)) {
    throw new Rejected('hours must be a number from 0 to 1000');
  }
}
