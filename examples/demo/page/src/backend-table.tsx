import type { BackendOrder } from './demo-server.ts';
import { CREWS } from './types.ts';

/** The backend's own database, read from SQLite: what all devices should show in the end. */
export function BackendTable({ orders }: { readonly orders: readonly BackendOrder[] }) {
  return (
    <section className="backend" aria-label="Backend">
      <h2>The backend’s database</h2>
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
