import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHandler, type TidemarkClient } from '@tidemark/backend';
import { nodeListener } from '@tidemark/backend/node';
import { Database } from './database.ts';
import { office } from './office.ts';
import { type Look, Pusher } from './outbox.ts';
import { lookAtPartUse, partUses } from './part-uses.ts';
import { isPassword } from './passwords.ts';
import { lookAtPart, priceList } from './price-list.ts';
import { seed } from './seed.ts';
import { lookAtWorkOrder, workOrders } from './work-orders.ts';

export interface BackendOptions {
  readonly databaseFile: string;
  readonly port: number;
  /** Shared with Tidemark. */
  readonly secret: string;
  readonly officeToken: string;
  /** What technicians and the dispatcher log in with, in a database that is new. */
  readonly technicianPassword: string;
  /** The price list gets invented parts until it has so many. */
  readonly partsMin?: number;
  readonly tidemark: TidemarkClient;
}

export interface Backend {
  readonly url: string;
  readonly database: Database;
  readonly pusher: Pusher;
  close(): Promise<void>;
}

const LOGINS = `
  SELECT password_hash FROM (SELECT login, password_hash FROM technicians UNION ALL SELECT * FROM dispatchers)
  WHERE login = ?
`;

/** The whole backend: its database, what Tidemark may ask of it, and what the office does with it. */
export async function startBackend(options: BackendOptions): Promise<Backend> {
  const database = new Database(options.databaseFile);
  seed(database, options.technicianPassword, options.partsMin);
  const pusher = new Pusher(database, options.tidemark, lookIn(database));
  const forTidemark = nodeListener(handlerOf(database, options.secret, pusher));
  const forOffice = office(database, pusher, options.officeToken);
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/tidemark/')) forTidemark(request, response);
    else void forOffice(request, response);
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    await closed(server);
    await pusher.stop();
    database.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, database, pusher, close };
}

function handlerOf(database: Database, secret: string, pusher: Pusher) {
  const answer = createHandler({
    secret,
    authenticate: ({ login, password }) => {
      const found = database.get(LOGINS, login);
      return found !== null && isPassword(password, String(found.password_hash)) ? { user_id: login } : null;
    },
    sources: { WorkOrder: workOrders(database), PartUse: partUses(database), Part: priceList(database) },
  });
  return async (request: Request): Promise<Response> => {
    const response = await answer(request);
    // What a device changed may concern others; they are told once the device has its answer.
    setImmediate(() => void pusher.drain());
    return response;
  };
}

function lookIn(database: Database): Look {
  return (source, user, id) => {
    if (source === 'WorkOrder') return lookAtWorkOrder(database, user, id);
    return source === 'PartUse' ? lookAtPartUse(database, user, id) : lookAtPart(database, id);
  };
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await once(server, 'close');
}
