import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TidemarkClient } from '@tidemark/backend';
import { secretsIn, setUpTidemark, startBackend } from '@tidemark/example-field-service';
import { buildPage } from './build-page.ts';
import { controlRoutes } from './control-routes.ts';
import { TidemarkServer } from './tidemark-server.ts';
import { openWebServer } from './web-server.ts';

export interface DemoOptions {
  /** Where Tidemark and the backend keep their data. */
  readonly folder: string;
  /** The port of the page; 0 stands for any that is free. */
  readonly port: number;
}

export interface Demo {
  readonly url: string;
  readonly tidemarkUrl: string;
  readonly backendUrl: string;
  /** The password of `admin` in the console. */
  readonly adminPassword: string;
  stop(): Promise<void>;
}

/** Starts everything: the page's web server, Tidemark in a process of its own, and the field-service backend. */
export async function startDemo({ folder, port }: DemoOptions): Promise<Demo> {
  const secrets = secretsIn(join(folder, 'secrets.json'));
  // The web server comes first, because Tidemark has to know which pages may call it.
  const web = await openWebServer(port);
  const server = await TidemarkServer.start({
    TIDEMARK_DATA: join(folder, 'tidemark'),
    TIDEMARK_ADMIN_PASSWORD: secrets.adminPassword,
    TIDEMARK_BACKEND_SECRET: secrets.backendSecret,
    TIDEMARK_DEVICES_ORIGINS: web.origins.join(','),
  });
  const tidemark = await TidemarkClient.logIn({ url: server.url, login: 'admin', password: secrets.adminPassword });
  const backend = await startBackend({
    databaseFile: join(folder, 'field-service.sqlite'),
    port: 0,
    secret: secrets.backendSecret,
    officeToken: secrets.officeToken,
    technicianPassword: secrets.technicianPassword,
    tidemark,
  });
  await setUpTidemark(tidemark, backend.url, secrets.technicianPassword);
  await backend.pusher.drain();
  const { adminPassword, technicianPassword: password } = secrets;
  const session = { instance: randomUUID(), url: server.url, password, adminPassword };
  web.serve(await buildPage(), controlRoutes({ server, tidemark, backend, session }), server.url);
  const stop = async () => {
    await web.close();
    // The backend goes before Tidemark: what it still has to tell, Tidemark can still be told.
    await backend.close();
    await server.stop();
  };
  return { url: web.url, tidemarkUrl: server.url, backendUrl: backend.url, adminPassword, stop };
}
