import { Refusal, SCHEMA_STEPS_BYTES_MAX, type SourceSchema } from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';

const FIRST: SourceSchema = { properties: { title: { type: 'string' } }, required: ['title'] };
const SECOND: SourceSchema = { properties: { name: { type: 'string' } }, required: ['name'] };
const RENAME = [{ step: 'rename', attribute: 'title', to: 'name' }];
const SET_AT = '2023-11-14T22:13:20.000Z';

async function newSource() {
  const test = await newTidemark();
  return { ...test, sources: test.tidemark.sources, schemas: test.tidemark.sources.schemas };
}

describe('the schema of a source', () => {
  it('[SCHEMA-9] a source has no schema until one is set, which is version 1 and only reports', async () => {
    const { sources, schemas } = await newSource();
    expect(await refusalOf(schemas.get('Order'))).toBe('schema_not_found');
    expect(await refusalOf(schemas.set('Order', { mode: 'enforce' }))).toBe('schema_not_found');
    expect((await sources.get('Order')).schema).toBeNull();
    const view = {
      ...{ source: 'Order', schema: FIRST, steps: [], set_at: SET_AT },
      ...{ mode: 'report', version: 1, oldest_version: 1, converting: false },
    };
    expect(await schemas.set('Order', { schema: FIRST })).toEqual(view);
    expect(await schemas.get('Order')).toEqual(view);
  });

  it('[SCHEMA-9] another schema is the next version; the same one is not; mode and oldest version change alone', async () => {
    const { schemas } = await newSource();
    await schemas.set('Order', { schema: FIRST, mode: 'enforce' });
    expect(await schemas.set('Order', { schema: FIRST })).toMatchObject({ version: 1, mode: 'enforce' });
    expect(await schemas.set('Order', { schema: { ...FIRST, title: 'Order' } })).toMatchObject({
      ...{ version: 2, mode: 'enforce', steps: [[]], converting: false },
    });
    expect(await schemas.set('Order', { mode: 'off', oldest_version: 2 })).toMatchObject({
      ...{ version: 2, mode: 'off', oldest_version: 2 },
    });
  });

  it('[SCHEMA-23] a version may have the number that apps were built for at another server', async () => {
    const { tidemark } = await newTidemark();
    const { schemas } = tidemark.sources;
    expect(await schemas.set('Order', { schema: FIRST, version: 3 })).toMatchObject({ version: 3, steps: [[], []] });
    expect(await schemas.set('Order', { schema: FIRST, version: 2 })).toMatchObject({ version: 3 });
    expect(await schemas.set('Order', { schema: FIRST, version: 4 })).toMatchObject({ version: 4, converting: false });
    const renamed = { properties: { name: FIRST.properties.title ?? {} } };
    const steps = [{ step: 'rename', attribute: 'title', to: 'name' }];
    const late = schemas.set('Order', { schema: renamed, steps, version: 4, force: true });
    await expect(late).rejects.toThrow('version must be greater than 4, the present version, for another schema');
    const next = await schemas.set('Order', { schema: renamed, steps, version: 6, force: true });
    expect(next).toMatchObject({ version: 6, steps: [[], [], [], [], steps], converting: true });
    const again = schemas.set('Order', { schema: renamed, version: 7 });
    expect(await refusalOf(again)).toBe('schema_converting');
    expect(await refusalOf(schemas.set('Order', { version: 8 }))).toBe('invalid_value');
  });

  it('[SCHEMA-9] a version with steps converts the objects, and the next version waits for that', async () => {
    const { schemas } = await newSource();
    await schemas.set('Order', { schema: FIRST });
    expect(await schemas.set('Order', { schema: SECOND, steps: RENAME })).toMatchObject({
      ...{ version: 2, steps: [RENAME], converting: true },
    });
    const next = { schema: { ...SECOND, title: 'Order' } };
    expect(await refusalOf(schemas.set('Order', next))).toBe('schema_converting');
    expect(await schemas.set('Order', { schema: SECOND, mode: 'enforce' })).toMatchObject({ mode: 'enforce' });
    await schemas.converted('Order', 1);
    expect((await schemas.get('Order')).converting).toBe(true);
    await schemas.converted('Order', 2);
    expect(await schemas.set('Order', next)).toMatchObject({ version: 3, converting: false });
  });

  it('[SCHEMA-10] a breaking schema is refused with its reasons, unless it is forced', async () => {
    const { schemas } = await newSource();
    await schemas.set('Order', { schema: FIRST });
    const refusal = await schemas.set('Order', { schema: SECOND }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      code: 'schema_breaking',
      flaws: [
        {
          pointer: '/schema',
          detail: '"title" is missing: keep it as deprecated, or name a step that renames or removes it',
        },
        { pointer: '/schema', detail: '"name" is new and required: name a step that adds it' },
      ],
    });
    expect((await schemas.get('Order')).version).toBe(1);
    expect(await schemas.set('Order', { schema: SECOND, force: true })).toMatchObject({
      version: 2,
      converting: false,
    });
  });

  it('[SCHEMA-10] the difference to another schema is told, and nothing is changed', async () => {
    const { schemas } = await newSource();
    const told = { source: 'Order', devices: {}, devices_without_version: 0, reasons: [] };
    expect(await schemas.diff('Order', { schema: FIRST })).toEqual({ ...told, kind: 'additive', version: 1 });
    await schemas.set('Order', { schema: FIRST });
    expect(await schemas.diff('Order', { schema: FIRST })).toEqual({ ...told, kind: 'equal', version: 1 });
    expect(await schemas.diff('Order', { schema: SECOND, steps: RENAME })).toEqual({
      ...{ ...told, kind: 'translatable', version: 2 },
    });
    expect(await schemas.diff('Order', { schema: SECOND })).toMatchObject({ kind: 'breaking', version: 2 });
    expect((await schemas.get('Order')).version).toBe(1);
  });

  it.each([
    ['an unknown field', { schema: FIRST, versions: 2 }, 'invalid_request'],
    ['an unknown mode', { schema: FIRST, mode: 'strict' }, 'invalid_value'],
    ['an oldest version that is no version', { schema: FIRST, oldest_version: 0 }, 'invalid_value'],
    ['an oldest version that does not exist yet', { schema: FIRST, oldest_version: 2 }, 'invalid_value'],
    ['steps without a schema', { steps: RENAME }, 'invalid_value'],
    ['steps to the first version', { schema: FIRST, steps: RENAME }, 'invalid_value'],
    ['a force that is neither true nor false', { schema: FIRST, force: 1 }, 'invalid_value'],
    ['a source that does not exist', undefined, 'invalid_request'],
  ] as const)('[SCHEMA-9] a call with %s is refused', async (_what, call, code) => {
    const { schemas } = await newSource();
    expect(await refusalOf(schemas.set('Order', call))).toBe(code);
    expect(await refusalOf(schemas.get('Order'))).toBe('schema_not_found');
    expect(await refusalOf(schemas.get('Nothing'))).toBe('source_not_found');
  });

  it('[SCHEMA-13] the steps of all versions have so many bytes, and not one more', async () => {
    const { schemas } = await newSource();
    await schemas.set('Order', { schema: { properties: {} } });
    const adding = (bytes: number) => {
      const step = (length: number) => [{ step: 'add', attribute: 'a', value: 'x'.repeat(length) }];
      return step(bytes - JSON.stringify([step(0)]).length);
    };
    const call = (bytes: number) => ({ schema: { properties: { a: {} } }, steps: adding(bytes) });
    expect(await refusalOf(schemas.set('Order', call(SCHEMA_STEPS_BYTES_MAX + 1)))).toBe('limit_exceeded');
    expect(await schemas.set('Order', call(SCHEMA_STEPS_BYTES_MAX))).toMatchObject({ version: 2 });
  });

  it('[SCHEMA-6] devices get version and steps with the list of sources, and lists tell only the state', async () => {
    const { tidemark, sources, schemas } = await newSource();
    await schemas.set('Order', { schema: FIRST });
    await schemas.set('Order', { schema: SECOND, steps: RENAME });
    const versions = { version: 2, steps: [RENAME], oldest_version: 1, converting: true };
    const [order, product] = await tidemark.devices.sources();
    expect(order).toMatchObject({ name: 'Order', schema: versions });
    expect(product).not.toHaveProperty('schema');
    const [listed] = await sources.list();
    expect(listed?.schema).toEqual({ mode: 'report', version: 2, oldest_version: 1, converting: true });
  });

  it('[SCHEMA-22] the configuration sets schemas, makes versions, and says the same again without effect', async () => {
    const { sources, schemas } = await newSource();
    await sources.configure([{ name: 'Order', schema: FIRST, schema_mode: 'enforce' }]);
    expect(await schemas.get('Order')).toMatchObject({ version: 1, mode: 'enforce' });
    const second = { name: 'Order', schema: SECOND, schema_steps: RENAME, oldest_version: 1 };
    for (let start = 0; start < 2; start++) {
      await sources.configure([second]);
      expect(await schemas.get('Order')).toMatchObject({ version: 2, mode: 'enforce', steps: [RENAME] });
    }
    await sources.configure([{ name: 'Order' }]);
    expect(await schemas.get('Order')).toMatchObject({ version: 2 });
    await sources.configure([{ name: 'New', schema: SECOND, schema_steps: RENAME }]);
    expect(await schemas.get('New')).toMatchObject({ version: 1, steps: [] });
  });

  it.each([1, 2])(
    '[SCHEMA-63] a server finds the new version made by another one that was faster after read %i of the source',
    async (readsBefore) => {
      const { sources, schemas, store } = await newSource();
      await sources.configure([{ name: 'Order', schema: FIRST }]);
      const call = { name: 'Order', schema: SECOND, schema_steps: RENAME };
      const { readEntry } = store;
      let reads = 0;
      let isOther = false;
      // The other server is faster: it is done when this one is about to write.
      store.readEntry = async (...args) => {
        const entry = await readEntry.apply(store, args);
        reads++;
        if (!isOther && reads === readsBefore) {
          isOther = true;
          await sources.configure([call]);
          await schemas.converted('Order', 2);
        }
        return entry;
      };
      await sources.configure([call]);
      expect(isOther).toBe(true);
      expect(await schemas.get('Order')).toMatchObject({ version: 2, steps: [RENAME], converting: false });
    },
  );

  it('[SCHEMA-22] a breaking schema in the configuration is an error that names the source, unless it is forced there', async () => {
    const { sources, schemas } = await newSource();
    await sources.configure([{ name: 'Order', schema: FIRST }]);
    const breaking = { name: 'Order', schema: SECOND };
    await expect(sources.configure([breaking])).rejects.toThrow(
      'the schema of the source "Order": the new schema of "Order" breaks older apps: "title" is missing',
    );
    expect((await schemas.get('Order')).version).toBe(1);
    await sources.configure([{ ...breaking, schema_force: true }]);
    expect((await schemas.get('Order')).version).toBe(2);
    await expect(sources.configure([{ name: 'Order', schema: {} }])).rejects.toThrow('needs "properties"');
  });

  it('[SCHEMA-10] a refusal of a breaking schema names its first three reasons in a sentence, and how many more there are', async () => {
    const { schemas } = await newSource();
    const names = Array.from({ length: 15 }, (_, index) => `a${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    await schemas.set('Order', { schema: { properties } });
    const missing = (name: string) =>
      `"${name}" is missing: keep it as deprecated, or name a step that renames or removes it`;
    const error = await schemas.set('Order', { schema: { properties: {} } }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'schema_breaking',
      message: `the new schema of "Order" breaks older apps: ${['a0', 'a1', 'a2'].map(missing).join('; ')}; and 12 more reasons; no device was here in the last 30 days`,
      flaws: names.slice(0, 10).map((name) => ({ pointer: '/schema', detail: missing(name) })),
    });
    const one = await schemas
      .set('Order', { schema: { properties: { ...properties, a3: { type: 'number' } } } })
      .catch((reason: unknown) => reason);
    expect(one).toMatchObject({ message: expect.stringMatching(/"a3" cannot be of type string any more; no device/) });
  });

  it('[SCHEMA-11] attributes that refer to objects by the schema are references of the source', async () => {
    const { sources, schemas } = await newSource();
    await sources.update('Order', { references: { product: 'Product', owner: 'User' } });
    const properties = {
      product: { type: 'string', reference: 'Part' },
      customers: { type: 'array', items: { type: 'string', reference: 'Customer' } },
      note: { type: 'string' },
    };
    await schemas.set('Order', { schema: { properties } });
    expect((await sources.get('Order')).references).toEqual({ product: 'Part', owner: 'User', customers: 'Customer' });
  });
});
