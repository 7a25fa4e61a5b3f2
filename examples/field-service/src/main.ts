import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TidemarkClient } from '@tidemark/backend';
import { startBackend } from './backend.ts';
import { secretsIn } from './secrets.ts';
import { setUpTidemark } from './set-up-tidemark.ts';
import { startTidemark } from './tidemark-process.ts';

const READ_TOKEN_MS = 86_400_000;

const folder = process.env.FIELD_SERVICE_DATA ?? fileURLToPath(new URL('../data', import.meta.url));
mkdirSync(folder, { recursive: true });
const secrets = secretsIn(join(folder, 'secrets.json'));

const tidemarkProcess = await startTidemark({
  TIDEMARK_DATA: join(folder, 'tidemark'),
  TIDEMARK_ADMIN_PASSWORD: secrets.adminPassword,
  TIDEMARK_BACKEND_SECRET: secrets.backendSecret,
  TIDEMARK_LOG_LEVEL: process.env.TIDEMARK_LOG_LEVEL ?? 'error',
});
const { url } = tidemarkProcess;
const tidemark = await TidemarkClient.logIn({ url, login: 'admin', password: secrets.adminPassword });

const backend = await startBackend({
  databaseFile: join(folder, 'field-service.sqlite'),
  port: Number(process.env.FIELD_SERVICE_PORT ?? 8080),
  secret: secrets.backendSecret,
  officeToken: secrets.officeToken,
  technicianPassword: secrets.technicianPassword,
  partsMin: Number(process.env.FIELD_SERVICE_PARTS ?? 0),
  tidemark,
});
await setUpTidemark(tidemark, backend.url, secrets.technicianPassword);
await backend.pusher.drain();

// For the command below; a token of an earlier start may still be in use, so each start makes one that ends by itself.
const { token: readToken } = await tidemark.tokens.create({
  name: 'field-service example, reads only',
  scopes: ['read'],
  expires_at: new Date(Date.now() + READ_TOKEN_MS).toISOString(),
});

console.log(`Tidemark       ${url}   admin / ${secrets.adminPassword}
the backend    ${backend.url}   office token ${secrets.officeToken}
technicians    crew-north, crew-harbour, crew-valley, dispatch / ${secrets.technicianPassword}
everything is in ${folder}

Change a price, and see it arrive in the shared price list:
  curl ${backend.url}/office/prices -H 'Authorization: Bearer ${secrets.officeToken}' -d '{"part":"P-1010","price_cents":4990}'
  TIDEMARK_TOKEN=${readToken} npx tidemark docs get md --source Part --shared --url ${url}
`);

let isStopping = false;
const stop = async () => {
  if (isStopping) return;
  isStopping = true;
  // The backend first: what it still has to tell, Tidemark can still be told.
  await backend.close();
  await tidemarkProcess.stop();
};
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
tidemarkProcess.child.once('exit', () => {
  if (isStopping) return;
  console.error('field-service: Tidemark has ended, so this ends too');
  process.exitCode = 1;
  void stop();
});
