import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TidemarkClient } from '@tidemark/backend';
import { secretsIn } from '@tidemark/example-field-service';
import { backendData } from './backend-data.ts';
import { buildPage } from './build-page.ts';
import { controlRoutes } from './control-routes.ts';
import { postgresData } from './postgres-data.ts';
import { TidemarkServer } from './tidemark-server.ts';
import { openWebServer } from './web-server.ts';

export interface DemoOptions {
  /** Where Tidemark and the backend keep their data. */
  readonly folder: string;
  /** The port of the page; 0 stands for any that is free. */
  readonly port: number;
  /** Whether the work orders are in a database on Postgres instead of the backend. */
  readonly isOnPostgres?: boolean;
}

export interface Demo {
  readonly url: string;
  readonly tidemarkUrl: string;
  /** What is beside Tidemark. */
  readonly about: string;
  /** A line for the terminal that changes the database; null: there is none. */
  readonly command: string | null;
  /** The password of `admin` in the console. */
  readonly adminPassword: string;
  stop(): Promise<void>;
}

/** Starts everything: the page's web server, Tidemark in a process of its own, and what has the work orders. */
export async function startDemo({ folder, port, isOnPostgres = false }: DemoOptions): Promise<Demo> {
  const secrets = secretsIn(join(folder, 'secrets.json'));
  // The web server comes first, because Tidemark has to know which pages may call it.
  const web = await openWebServer(port);
  const data = isOnPostgres ? await postgresData(folder, secrets) : backendData(folder, secrets);
  const server = await TidemarkServer.start({
    TIDEMARK_DATA: join(folder, 'tidemark'),
    TIDEMARK_ADMIN_PASSWORD: secrets.adminPassword,
    TIDEMARK_DEVICES_ORIGINS: web.origins.join(','),
    ...data.settings,
  });
  const tidemark = await TidemarkClient.logIn({ url: server.url, login: 'admin', password: secrets.adminPassword });
  const connected = await data.connect(tidemark);
  const { adminPassword, technicianPassword: password } = secrets;
  const { command } = data;
  const session = { instance: randomUUID(), url: server.url, password, adminPassword, command };
  web.serve(await buildPage(), controlRoutes({ server, tidemark, data: connected, session }), server.url);
  const stop = async () => {
    await web.close();
    // The backend goes before Tidemark: what it still has to tell, Tidemark can still be told.
    await connected.close();
    await server.stop();
    await data.close();
  };
  return { url: web.url, tidemarkUrl: server.url, about: connected.about, command, adminPassword, stop };
}
