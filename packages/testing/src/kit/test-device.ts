import type { DeviceSession } from '@tidemark/protocol';
import { Caller } from './caller.ts';
import { EventReader, type EventReaderOptions } from './event-reader.ts';

export const USER_PASSWORD = 'a password for devices';

/** A server with the token of an administrator. */
interface AdministeredServer {
  readonly url: string;
  readonly token: string;
}

/** Creates a user with the password of all test users. */
export async function makeUser(server: AdministeredServer, login: string): Promise<void> {
  const admin = new Caller(server.url, server.token);
  const reply = await admin.post('/rc/v1/users', { attributes: { login, password: USER_PASSWORD } });
  admin.close();
  if (reply.status !== 200) throw new Error(`the user was not made: ${reply.text}`);
}

export interface TestDevice {
  readonly session: DeviceSession;
  readonly id: string;
  readonly api: Caller;
  listen(options?: EventReaderOptions): Promise<EventReader>;
}

/** Signs a device in. Its connections end with the server. */
export async function openDevice(
  server: Pick<AdministeredServer, 'url'>,
  login: string,
  client?: string,
): Promise<TestDevice> {
  const door = new Caller(server.url, null);
  const reply = await door.post('/sync/v1/login', {
    login,
    password: USER_PASSWORD,
    ...(client === undefined ? {} : { client }),
  });
  door.close();
  if (reply.status !== 200) throw new Error(`the login was answered ${reply.status}: ${reply.text}`);
  return deviceOf(server, reply.body as DeviceSession);
}

export function deviceOf(server: Pick<AdministeredServer, 'url'>, session: DeviceSession): TestDevice {
  const api = new Caller(server.url, session.token);
  return {
    session,
    id: session.client_id,
    api,
    async listen(options) {
      const reader = await EventReader.open(server.url, session.token, options);
      await reader.next();
      return reader;
    },
  };
}
