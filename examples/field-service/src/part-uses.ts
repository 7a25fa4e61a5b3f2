import { Rejected, type SourceHandlers, sourceHandlers } from '@tidemark/backend';
import { noteForOthers, VISIBLE } from './crews.ts';
import type { Database, Row } from './database.ts';
import { once } from './once.ts';
import { note } from './outbox.ts';
import { own } from './work-orders.ts';

export type PartUse = {
  readonly work_order_id: string;
  readonly part_id: string;
  readonly quantity: number;
};

const SELECT = 'SELECT part_uses.*, technician FROM part_uses JOIN work_orders ON work_orders.id = work_order_id';

/** Parts that technicians have used; each use takes from the stock. */
export function partUses(database: Database): SourceHandlers {
  return sourceHandlers<PartUse>({
    *query({ user_id }) {
      const rows = database.all(`${SELECT} WHERE ${VISIBLE} ORDER BY part_uses.id`, user_id);
      for (const row of rows) yield [Number(row.id), shown(row)];
    },

    create(call) {
      const { work_order_id, part_id, quantity } = call.attributes;
      if (!Number.isSafeInteger(quantity) || quantity < 1) throw new Rejected('quantity must be a whole number from 1');
      return once(database, call, () => {
        const order = own(database, { id: String(work_order_id), user_id: call.user_id });
        take(database, String(part_id), quantity);
        const sql = 'INSERT INTO part_uses (work_order_id, part_id, quantity) VALUES (?, ?, ?)';
        const { id } = database.run(sql, Number(work_order_id), String(part_id), quantity);
        noteForOthers(database, 'PartUse', { id, technician: String(order.technician) }, call);
        return { id };
      });
    },

    delete(call) {
      once(database, call, () => {
        const use = database.get(`${SELECT} WHERE ${VISIBLE} AND part_uses.id = ?2`, call.user_id, Number(call.id));
        if (use === null) return;
        give(database, String(use.part_id), Number(use.quantity));
        database.run('DELETE FROM part_uses WHERE id = ?', Number(call.id));
        noteForOthers(database, 'PartUse', { id: call.id, technician: String(use.technician) }, call);
      });
    },
  });
}

/** As devices have it. */
export function lookAtPartUse(database: Database, user: string | null, id: string): PartUse | null {
  const row = database.get(`${SELECT} WHERE ${VISIBLE} AND part_uses.id = ?2`, user, Number(id));
  return row === null ? null : shown(row);
}

function shown({ work_order_id, part_id, quantity }: Row): PartUse {
  return { work_order_id: String(work_order_id), part_id: String(part_id), quantity: Number(quantity) };
}

/** Everybody sees the stock on the price list, so everybody is told. */
function take(database: Database, part: string, quantity: number): void {
  const found = database.get('SELECT name, stock FROM parts WHERE id = ?', part);
  if (found === null) throw new Rejected(`there is no part ${part}`);
  if (Number(found.stock) < quantity) throw new Rejected(`only ${found.stock} of ${found.name} are left`);
  give(database, part, -quantity);
}

function give(database: Database, part: string, quantity: number): void {
  database.run('UPDATE parts SET stock = stock + ? WHERE id = ?', quantity, part);
  note(database, 'Part', null, part);
}
