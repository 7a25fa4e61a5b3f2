import { join } from 'node:path';
import { type Secrets, setUpTidemark, startBackend } from '@tidemark/example-field-service';
import { COMPARED, type DemoData } from './demo-data.ts';

/** The field-service backend with its database on SQLite. */
export function backendData(folder: string, secrets: Secrets): DemoData {
  return {
    settings: { TIDEMARK_BACKEND_SECRET: secrets.backendSecret },
    command: null,
    async connect(tidemark) {
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
      return {
        about: `the backend at ${backend.url}`,
        orders: async () => backend.database.all(`SELECT ${COMPARED} FROM work_orders ORDER BY id`),
        // What the backend could not tell a dead server is told now instead of at its next attempt.
        resume: () => void backend.pusher.drain(),
        close: () => backend.close(),
      };
    },
    close: async () => undefined,
  };
}
