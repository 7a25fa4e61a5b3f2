import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isTechnician, noteForOthers } from './crews.ts';
import type { Database } from './database.ts';
import { note, type Pusher } from './outbox.ts';
import { assign } from './work-orders.ts';

const BODY_BYTES_MAX = 100_000;

class BadRequest extends Error {}

type Fields = Readonly<Record<string, unknown>>;

/** What the people in the office do, over HTTP: plan work orders, hand them to somebody else, change prices. */
export function office(database: Database, pusher: Pusher, token: string) {
  const routes: Readonly<Record<string, (fields: Fields) => object>> = {
    'POST /office/work-orders': (fields) => plan(database, fields),
    'POST /office/assignments': (fields) => handOver(database, fields),
    'POST /office/prices': (fields) => price(database, fields),
  };
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const act = routes[`${request.method} ${request.url}`];
    if (!isAllowed(request.headers.authorization, token)) return answer(response, 401, { error: 'token needed' });
    if (act === undefined) return answer(response, 404, { error: 'no such address' });
    try {
      const fields = await read(request);
      const result = database.transaction(() => act(fields));
      // The change is made, whether Tidemark can be told at once or only later.
      answer(response, 200, { ...result, told: await pusher.drain() });
    } catch (error) {
      if (error instanceof BadRequest) return answer(response, 400, { error: error.message });
      console.error('field-service: the office could not be served', error);
      answer(response, 500, { error: 'something went wrong' });
    }
  };
}

function plan(database: Database, fields: Fields): object {
  const [technician, customer, title] = [text(fields, 'technician'), text(fields, 'customer'), text(fields, 'title')];
  mustKnow(database, technician);
  const found = database.get('SELECT id FROM customers WHERE name = ?', customer);
  if (found === null) throw new BadRequest(`there is no customer ${customer}`);
  const sql = 'INSERT INTO work_orders (technician, customer_id, title, due_on) VALUES (?, ?, ?, ?)';
  const dueOn = fields.due_on === undefined ? null : text(fields, 'due_on');
  const { id } = database.run(sql, technician, Number(found.id), title, dueOn);
  noteForOthers(database, 'WorkOrder', { id, technician });
  return { id };
}

function handOver(database: Database, fields: Fields): object {
  const [id, technician] = [Number(fields.id), text(fields, 'technician')];
  mustKnow(database, technician);
  if (database.get('SELECT 1 FROM work_orders WHERE id = ?', id) === null) {
    throw new BadRequest(`there is no work order ${id}`);
  }
  assign(database, id, technician);
  return { id };
}

function price(database: Database, fields: Fields): object {
  const [part, cents] = [text(fields, 'part'), fields.price_cents];
  if (typeof cents !== 'number' || !Number.isSafeInteger(cents) || cents < 0) {
    throw new BadRequest('price_cents must be a whole number from 0');
  }
  const { changes } = database.run('UPDATE parts SET price_cents = ? WHERE id = ?', cents, part);
  if (changes === 0) throw new BadRequest(`there is no part ${part}`);
  note(database, 'Part', null, part);
  return { part, price_cents: cents };
}

function mustKnow(database: Database, technician: string): void {
  if (!isTechnician(database, technician)) throw new BadRequest(`there is no technician ${technician}`);
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new BadRequest(`${name} is needed`);
}

function isAllowed(header: string | undefined, token: string): boolean {
  const [given, wanted] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function read(request: IncomingMessage): Promise<Fields> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) {
    body += piece;
    if (body.length > BODY_BYTES_MAX) throw new BadRequest('that is too much');
  }
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return value as Fields;
  } catch {
    // Told below.
  }
  throw new BadRequest('send a JSON object');
}

function answer(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(value)}\n`);
}
