import type { BackendOrder } from './demo-server.ts';
import { CREWS } from './types.ts';

interface BackendTableProps {
  readonly orders: readonly BackendOrder[];
  readonly command: string | null;
}

/** The backend's own database, read from SQLite, or the one on Postgres: what all devices should show in the end. */
export function BackendTable({ orders, command }: BackendTableProps) {
  return (
    <section className="backend" aria-label="Backend">
      <h2>{command === null ? 'The backend’s database' : 'The database on Postgres'}</h2>
      {command !== null && (
        <p className="command">
          Change rows in a terminal: <code>{command}</code>
        </p>
      )}
      <div className="table">
        <table>
          <thead>
            <tr>
              <th>No.</th>
              <th>Work order</th>
              <th>Crew</th>
              <th>Status</th>
              <th>Hours</th>
              <th>Notes</th>
            </tr>
          </thead>
          <tbody>
            {orders.map(({ id, title, technician, status, hours, notes }) => (
              <tr key={id} data-order={id}>
                <td>{id}</td>
                <td>{title}</td>
                <td>{CREWS[technician] ?? technician}</td>
                <td>{status.replace('_', ' ')}</td>
                <td>{hours.toFixed(1)}</td>
                <td className="notes">{notes}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
