import { TidemarkClient } from '@tidemark/backend';
import { useBrowser } from '@tidemark/testing';
import { callsTo, consoleOf, PATIENCE, REFUSED, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PASSWORD = 'sea-urchin-4410';

let server: TestServer;
let calls: TidemarkClient;

beforeAll(async () => {
  server = await startTestServer();
  calls = new TidemarkClient(server);
});

afterAll(() => server.close());

const { post } = callsTo(() => server);

/** Makes a source with a schema, and a user with a device of its first version. */
async function startWithDevice(source: string, schema: object): Promise<void> {
  await calls.sources.declare({ name: source, partition_type: 'app' });
  await calls.sources.setSchema(source, { schema: schema as never });
  const login = `user of ${source}`;
  await post('/rc/v1/users', { attributes: { login, password: PASSWORD } });
  await post('/sync/v1/login', { login, password: PASSWORD, device: { schema_versions: { [source]: 1 } } });
}

describe('in a browser', () => {
  const browser = useBrowser();
  const openConsole = consoleOf(browser, () => server);

  it('[CONSOLE-170] [CONSOLE-171] a schema is proposed from the stored objects with its support, saved, shown, and what does not fit it is counted', async () => {
    await calls.sources.declare({ name: 'Order', partition_type: 'app' });
    await calls.push.objects('Order', { 1: { title: 'Sails', total: 7 }, 2: { title: 'Ropes' } });
    const page = await openConsole('sources/Order');
    await page.getByRole('button', { name: 'Set a schema' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a schema' });
    await dialog.getByRole('button', { name: 'Propose from the stored objects' }).click();
    await dialog.getByText('Proposed from 2 stored objects').waitFor();
    const support = dialog.getByRole('table', { name: 'Support of the proposal' });
    const [total] = await support.getByRole('row').filter({ hasText: '/properties/total/type' }).all();
    expect(await total?.getByRole('cell').allTextContents()).toEqual(['/properties/total/type', '"integer"', '1']);
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('It is the first schema of the source').waitFor();
    await dialog.getByRole('button', { name: 'Save version 1' }).click();

    const rows = page.getByRole('table', { name: 'Attributes of the schema' }).getByRole('row');
    await rows.filter({ hasText: 'title' }).waitFor(PATIENCE);
    expect(await rows.filter({ hasText: 'title' }).getByRole('cell').allTextContents()).toEqual([
      'title',
      'text',
      'yes',
      '–',
    ]);
    await page.getByRole('button', { name: 'Show JSON' }).click();
    const json = page.getByRole('region', { name: 'Schema as JSON' });
    expect(JSON.parse((await json.textContent()) ?? '')).toEqual((await calls.sources.schema('Order')).schema);
    await page.getByText(/^Everything fits/).waitFor();
    await calls.push.objects('Order', { 3: { title: 8 } });
    const misfits = page.getByRole('table', { name: 'Objects that do not fit' });
    await misfits.getByRole('row').filter({ hasText: 'must be' }).waitFor(PATIENCE);
    await page.getByText(/^1 object did not fit/).waitFor();
  });

  it('[CONSOLE-170] commands on the screen of a source can be run as they are: names are quoted, and the example of a push fits the schema', async () => {
    await calls.sources.declare({ name: "the crew's task", partition_type: 'app' });
    const page = await openConsole(`sources/${encodeURIComponent("the crew's task")}`);
    const infer = `tidemark --url ${server.url} schema infer 'the crew'\\''s task' > schema.json`;
    await page.getByText(infer, { exact: true }).waitFor(PATIENCE);
    const schema = {
      properties: { state: { enum: ['open'] }, title: { type: 'string' } },
      required: ['state'],
    } as const;
    await calls.sources.setSchema("the crew's task", { schema, mode: 'enforce' });
    await page.reload();
    await page.getByText(/"objects":{"1":{"state":"open"}}/).waitFor(PATIENCE);
  });

  it('[CONSOLE-172] a schema that breaks apps names its reasons and is saved only after a confirmation that names the number of devices', async () => {
    await startWithDevice('Task', { properties: { title: { type: 'string' } } });
    const page = await openConsole('sources/Task', { expectedErrors: REFUSED });
    await page.getByRole('button', { name: 'Change the schema' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the schema' });
    const review = dialog.getByRole('button', { name: 'Review' });
    await dialog.getByLabel('Schema as JSON').fill('{"properties": {"name": {"type": "text"}}}');
    await review.click();
    await dialog.getByRole('alert').getByText('/schema/properties/name/type must be one of').waitFor();
    await dialog.getByLabel('Schema as JSON').fill('{"properties": {"name": {"type": "string"}}}');
    await review.click();
    await dialog.getByText('Devices of the last 30 days: 1 with version 1.').waitFor();
    expect(await dialog.getByRole('list', { name: 'Reasons' }).textContent()).toContain('title');
    const save = dialog.getByRole('button', { name: 'Save version 2' });
    expect(await save.isDisabled()).toBe(true);
    await dialog.getByLabel('Save it although it can break the app of 1 device').check();
    await save.click();
    await dialog.waitFor({ state: 'detached' });
    expect(await calls.sources.schema('Task')).toMatchObject({ version: 2, steps: [[]] });
  });

  it('[CONSOLE-172] a schema that somebody else has made breaking since its review is refused with its flaws and their pointers', async () => {
    await startWithDevice('Berth', { properties: { title: { type: 'string' } } });
    const page = await openConsole('sources/Berth', { expectedErrors: REFUSED });
    await page.getByRole('button', { name: 'Change the schema' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the schema' });
    const schema = { properties: { title: { type: 'string' }, length: { type: 'number' } } } as const;
    await dialog.getByLabel('Schema as JSON').fill(JSON.stringify(schema));
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('additive', { exact: true }).waitFor();
    const others = { properties: { ...schema.properties, depth: { type: 'number' } } } as const;
    await calls.sources.setSchema('Berth', { schema: others });
    await dialog.getByRole('button', { name: 'Save version 2' }).click();
    await dialog.getByRole('list', { name: 'Flaws' }).getByText('/schema: "depth" is missing').waitFor();
    expect((await calls.sources.schema('Berth')).schema).toEqual(others);
  });

  it('[CONSOLE-172] a breaking schema that was confirmed is not saved over one that somebody else has set since its review', async () => {
    await startWithDevice('Crane', { properties: { title: { type: 'string' } } });
    const page = await openConsole('sources/Crane');
    await page.getByRole('button', { name: 'Change the schema' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the schema' });
    await dialog.getByLabel('Schema as JSON').fill('{"properties": {"name": {"type": "string"}}}');
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByRole('checkbox').check();
    const others = { properties: { title: { type: 'string' }, load: { type: 'number' } } } as const;
    await calls.sources.setSchema('Crane', { schema: others });
    await dialog.getByRole('button', { name: 'Save version 2' }).click();
    await dialog.getByRole('alert').getByText('Somebody has changed the schema since this review').waitFor();
    expect(await calls.sources.schema('Crane')).toMatchObject({ version: 2, schema: others });
  });

  it('[CONSOLE-9] [CONSOLE-173] a read token sees the schema of a source with its devices, and no button that changes it', async () => {
    await startWithDevice('Buoy', { properties: { depth: { type: 'number' } } });
    const { token } = await post('/rc/v1/tokens', { name: 'reader', scopes: ['read'] });
    const page = await browser.openPage(`${server.url}/console/sources/Buoy`);
    await page.getByRole('button', { name: 'Use a token' }).click();
    await page.getByLabel('Token').first().fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('table', { name: 'Attributes of the schema' }).getByText('depth').waitFor(PATIENCE);
    const version = page.getByRole('table', { name: 'Versions of the schema' }).getByRole('row').nth(1);
    expect(await version.getByRole('cell').allTextContents()).toEqual(['1present', 'The first version.', '1']);
    expect(await page.getByRole('button', { name: /schema|oldest version/ }).count()).toBe(0);
  });

  it('[CONSOLE-173] steps make a change translatable, and versions are listed with their steps in words and their devices', async () => {
    await startWithDevice('Visit', { properties: { title: { type: 'string' } } });
    const page = await openConsole('sources/Visit');
    await page.getByRole('button', { name: 'Change the schema' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the schema' });
    await dialog.getByLabel('Schema as JSON').fill('{"properties": {"name": {"type": "string"}}}');
    await dialog.getByLabel(/^Steps from version 1/).fill('[{"step": "rename", "attribute": "title", "to": "name"}]');
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('translatable', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Save version 2' }).click();
    const rows = page.getByRole('table', { name: 'Versions of the schema' }).getByRole('row');
    await rows.filter({ hasText: '“title” is renamed to “name”.' }).waitFor(PATIENCE);
    expect(await rows.nth(2).getByRole('cell').allTextContents()).toEqual(['1', 'The first version.', '1']);

    await page.getByRole('button', { name: 'Mode and oldest version' }).click();
    const settings = page.getByRole('dialog', { name: 'Mode and oldest version' });
    await settings.getByLabel('Mode', { exact: true }).selectOption('enforce');
    await settings.getByLabel('Oldest version').selectOption('2');
    await settings.getByText('1 device of the last 30 days has an older version.').waitFor();
    await settings.getByRole('button', { name: 'Save' }).click();
    await rows.filter({ hasText: 'apps are refused' }).waitFor(PATIENCE);
    expect(await calls.sources.schema('Visit')).toMatchObject({ mode: 'enforce', oldest_version: 2 });
  });
});
