import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openTestServer } from './index.ts';

it('[VERSION-20] every step of the guide about changing data does what the page says', async () => {
  const server = await openTestServer({ sources: [{ name: 'Task' }], users: ['ada', 'bob'] });
  await server.setSchema('Task', {
    schema: {
      properties: {
        title: { type: 'string' },
        status: { enum: ['open', 'done'] },
        street: { type: 'string' },
      },
    },
  });

  const oldApp = await server.openDevice({ user: 'ada', versions: { Task: { version: 1, steps: [] } } });
  await oldApp.source('Task').create({ title: 'Pump', status: 'open', street: 'Elm 1' }, { id: 't1' });
  await oldApp.sync();

  const next = {
    schema: {
      properties: {
        name: { type: 'string' },
        status: { enum: ['todo', 'doing', 'closed'] },
        address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
      },
    },
  } as const;
  const refusal = await server.setSchema('Task', next).catch((error: Error) => error.message);
  expect(refusal).toMatch(/breaks older apps: .*"title".*devices of the last 30 days: 1 with version 1/);

  // biome-ignore format: the sample of the guide
  await server.setSchema('Task', {
    ...next,
    steps: [
      { step: 'rename', attribute: 'title', to: 'name' },
      { step: 'map', attribute: 'status', values: [['open', 'todo'], ['done', 'closed']], shown_as: 'open' },
      { step: 'nest', into: 'address', members: { street: 'street' } },
    ],
  });

  const newApp = await server.openDevice({ user: 'ada', versions: { Task: { version: 2, steps: [] } } });
  await newApp.sync();
  const seen = newApp.source('Task').get('t1')?.attributes; // { name: 'Pump', status: 'todo', address: { street: 'Elm 1' } }
  await newApp.source('Task').update('t1', { status: 'doing', address: { street: 'Elm 1', city: 'Bern' } });
  await newApp.sync();

  await oldApp.sync();
  const shown = oldApp.source('Task').get('t1')?.attributes; // { title: 'Pump', status: 'open', street: 'Elm 1' }
  await oldApp.source('Task').update('t1', { title: 'Big pump', street: 'Oak 2' });
  await oldApp.sync();
  expect(seen).toEqual({ name: 'Pump', status: 'todo', address: { street: 'Elm 1' } });
  expect(shown).toEqual({ title: 'Pump', status: 'open', street: 'Elm 1' });

  const stored = await server.objects('Task', { user: 'ada' });
  // { t1: { name: 'Big pump', status: 'doing', address: { street: 'Oak 2', city: 'Bern' } } }
  expect(stored).toEqual({ t1: { name: 'Big pump', status: 'doing', address: { street: 'Oak 2', city: 'Bern' } } });

  await server.setSchema('Task', { oldest_version: 2 });
  await oldApp.sync();
  const trouble = oldApp.status.getSnapshot().sourceTroubles.get('Task')?.code; // 'app_too_old'
  expect(trouble).toBe('app_too_old');
  await server.close();
});

it('[VERSION-20] every sample of the guide about changing data is run by a test', async () => {
  const text = await readFile(new URL('../../../docs/guides/changing-data.md', import.meta.url), 'utf8');
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'));
  const samples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, sample = '']) => squeezed(sample));
  expect(samples).toHaveLength(7);
  for (const sample of samples) expect(here).toContain(sample);
});

function squeezed(text: string): string {
  return text.replace(/\s*\n\s*/g, '\n').trim();
}
