import type { Outcome, SourceSchema, Upload } from '@tidemark/protocol';
import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../ports/adapter.ts';

const SCHEMA: SourceSchema = {
  properties: { title: { type: 'string' }, state: { enum: ['open', 'done'] } },
  required: ['title'],
};
const ORDER = { source: 'Order', user_id: 'ada' };

async function scene(mode: 'report' | 'enforce', backend?: Adapter) {
  const { tidemark } = await newTidemark({ adapters: { find: () => backend ?? null } });
  await tidemark.objects.push({ ...ORDER, objects: { a: { title: 'A', state: 'open' } } });
  if (backend !== undefined) await tidemark.sources.update('Order', { adapter: 'erp' });
  await tidemark.sources.schemas.set('Order', { schema: SCHEMA, mode });
  const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  const upload = async (...changes: readonly Partial<Upload>[]): Promise<readonly Outcome[]> =>
    tidemark.devices.push(device, {
      changes: changes.map((change, index) => {
        return { op_id: `op${index}`, source: 'Order', op: 'update', id: 'a', ...change } as Upload;
      }),
    });
  const read = async () => Object.fromEntries(await tidemark.objects.read(ORDER));
  return { tidemark, upload, read };
}

const rejected = (detail: string) => ({ status: 'rejected', error: { code: 'schema_violation', detail } });

describe('uploads to a source with a schema', () => {
  it('[SCHEMA-17] an upload that does not fit an enforced schema is rejected, names its attribute, and does not stop others', async () => {
    const { upload, read } = await scene('enforce');
    const outcomes = await upload(
      { attributes: { state: 'late' } },
      { id: 'b', op: 'create', attributes: { state: 'open' } },
      { removed: ['title'] },
      { id: 'c', op: 'create', attributes: { title: 'C' } },
      { attributes: { state: 'done' } },
    );
    expect(outcomes).toMatchObject([
      rejected('"state" must be one of "open", "done"'),
      rejected('"title" is required and missing'),
      rejected('"title" is required and missing'),
      { status: 'applied' },
      { status: 'applied' },
    ]);
    expect(await read()).toEqual({ a: { title: 'A', state: 'done' }, c: { title: 'C' } });
  });

  it('[SCHEMA-17] an upload of an older version is judged after it was translated', async () => {
    const { tidemark, upload, read } = await scene('enforce');
    const schema: SourceSchema = {
      properties: { name: { type: 'string', maxLength: 3 }, state: {} },
      required: ['name'],
    };
    const steps = [{ step: 'rename', attribute: 'title', to: 'name' }];
    await tidemark.sources.schemas.set('Order', { schema, steps, force: true });
    const outcomes = await upload(
      { attributes: { title: 'long' }, version: 1 },
      { id: 'b', op: 'create', attributes: { title: 'B' }, version: 1 },
    );
    expect(outcomes).toMatchObject([rejected('"name" must have at most 3 characters'), { status: 'applied' }]);
    expect(await read()).toMatchObject({ b: { name: 'B' } });
  });

  it('[SCHEMA-17] an upload is not judged by what the object lacks while objects are converted', async () => {
    const { tidemark, upload, read } = await scene('enforce');
    const schema: SourceSchema = { properties: { name: { type: 'string' }, state: {} }, required: ['name'] };
    const steps = [{ step: 'rename', attribute: 'title', to: 'name' }];
    await tidemark.sources.schemas.set('Order', { schema, steps });
    expect(await upload({ attributes: { state: 'done' } })).toMatchObject([{ status: 'applied' }]);
    await tidemark.conversions.run();
    expect(await read()).toEqual({ a: { name: 'A', state: 'done' } });
  });

  it('[SCHEMA-17] an upload may delete the object, also by removing all attributes', async () => {
    const { upload, read } = await scene('enforce');
    expect(await upload({ removed: ['title', 'state'] })).toMatchObject([{ status: 'applied' }]);
    expect(await read()).toEqual({});
  });

  it('[SCHEMA-17] the backend is not asked about an upload that does not fit', async () => {
    const asked: string[] = [];
    const backend: Adapter = {
      query: async () => ({ objects: {} }),
      create: async () => `${asked.push('create')}`,
      update: async () => void asked.push('update'),
      delete: async () => void asked.push('delete'),
    };
    const { upload } = await scene('enforce', backend);
    const outcomes = await upload(
      { attributes: { title: 1 } },
      { id: 'b', op: 'create', attributes: { state: 'open' } },
    );
    expect(outcomes).toMatchObject([rejected('"title" must be a text'), rejected('"title" is required and missing')]);
    expect(asked).toEqual([]);
  });

  it('[SCHEMA-17] with a schema that only reports, it is applied and counted', async () => {
    const { tidemark, upload, read } = await scene('report');
    expect(await upload({ attributes: { state: 'late' } })).toMatchObject([{ status: 'applied' }]);
    expect(await read()).toEqual({ a: { title: 'A', state: 'late' } });
    expect(await tidemark.sources.schemas.report('Order')).toMatchObject({
      ...{ objects: 1, samples: [{ object: 'a', attribute: 'state' }] },
    });
  });
});
