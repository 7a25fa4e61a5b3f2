import { Type } from 'typebox';
import { expect, it, onTestFinished } from 'vitest';
import { openLog } from '../logging/open-log.ts';
import { addRoute } from './add-route.ts';
import { buildHttp } from './app.ts';
import { type Desk, route } from './route.ts';

it('[LOG-3] what is logged while a route does its work carries the id of the request', async () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const log = openLog({ level: 'info', format: 'json', stream });
  const talking = route({
    method: 'GET',
    path: '/talk',
    scope: 'public',
    summary: 'Logs a line deep inside',
    answer: Type.Object({}),
    handle: async () => {
      await Promise.resolve();
      log.info('deep_inside');
      return {};
    },
  });
  // A public route without audit asks nothing of the desk.
  const app = await buildHttp({ bodyBytesMax: 1_000 }, (http) => addRoute(http, {} as Desk, talking));
  onTestFinished(() => app.close());
  const { headers } = await app.inject({ method: 'GET', url: '/talk' });
  expect(JSON.parse(written.join(''))).toMatchObject({ event: 'deep_inside', request_id: headers['x-request-id'] });
});
