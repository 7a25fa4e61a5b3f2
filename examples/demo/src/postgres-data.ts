import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type TidemarkClient, TidemarkError } from '@tidemark/backend';
import { PHOTOS, type Row, type Secrets } from '@tidemark/example-field-service';
import { COMPARED, type DemoData } from './demo-data.ts';
import { MAPPING, openDatabase } from './postgres-database.ts';

const FOLDER = fileURLToPath(new URL('../postgres', import.meta.url));
/** Changes what all devices show. */
const UPDATE = `UPDATE work_orders SET notes = 'Gate code 4711.' WHERE status <> 'done'`;
const PEOPLE = ['dispatch', 'crew-north', 'crew-harbour', 'crew-valley'];
const LOOKS_MAX = 600;
const LOOK_MS = 100;

/** A database on Postgres that Tidemark connects: without a backend, only by a mapping of its tables. */
export async function postgresData(folder: string, secrets: Secrets): Promise<DemoData> {
  const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
  const database = await openDatabase(read('schema.sql'), read(MAPPING));
  writeFileSync(join(folder, MAPPING), database.mapping);
  writeFileSync(join(folder, 'postgres-url'), database.connectorUrl, { mode: 0o600 });
  const connectors = [{ name: 'field', kind: 'postgres', url_file: 'postgres-url', mapping: MAPPING }];
  const configuration = join(folder, 'tidemark.json');
  writeFileSync(configuration, JSON.stringify({ connectors }, null, 2));
  return {
    settings: { TIDEMARK_CONFIG: configuration },
    command: `psql "${database.officeUrl}" -c "${UPDATE}"`,
    async connect(tidemark) {
      for (const login of PEOPLE) await setPassword(tidemark, login, secrets.technicianPassword);
      await tidemark.sources.declare(PHOTOS);
      return {
        about: `Postgres with the database ${database.name}`,
        orders: () => database.sql.unsafe<Row>(`SELECT ${COMPARED} FROM work_orders ORDER BY id`),
        // The connector goes on by itself where it was.
        resume: () => undefined,
        close: async () => undefined,
      };
    },
    close: () => database.close(),
  };
}

/** The connector makes the users of the table `people`, without passwords. Signing in stays with whoever knows them. */
async function setPassword(tidemark: TidemarkClient, login: string, password: string): Promise<void> {
  for (let looks = 1; ; looks++) {
    try {
      await tidemark.users.update(login, { password });
      return;
    } catch (error) {
      const isMissing = error instanceof TidemarkError && error.code === 'user_not_found';
      if (!isMissing || looks === LOOKS_MAX) throw error;
    }
    await sleep(LOOK_MS);
  }
}
