import { itLong, useBrowser } from '@tidemark/testing';
import { callsTo, consoleOf, PATIENCE, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PASSWORD = 'sea-urchin-4410';
const FIREFOX = { device_system: 'Firefox 128 on Linux', device_app_id: 'Field', device_app_version: '2.3' };
const SHOWN = 'Firefox 128 on Linux · Field 2.3';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

const { post } = callsTo(() => server);

/** Signs a device in and lets it pull the source. Returns its id. */
async function syncedDevice(login: string, source: string): Promise<string> {
  const { token, client_id } = await post('/sync/v1/login', { login, password: PASSWORD, device: FIREFOX });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const call = async (path: string, body: object) => {
    const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { readonly sources: Record<string, { readonly token: string }> };
  };
  const { sources } = await call('/sync/v1/pull', { client_id, sources: { [source]: {} } });
  await call('/sync/v1/ack', { client_id, sources: { [source]: sources[source]?.token } });
  return String(client_id);
}

describe('in a browser', () => {
  const browser = useBrowser();
  const openConsole = consoleOf(browser, () => server);

  itLong(
    '[CONSOLE-93] receipts, activity, audit and tokens name devices as people know them, with the id in the hint',
    async () => {
      await post('/rc/v1/sources', { name: 'Pier', partition_type: 'app' });
      await post('/app/v1/Pier/push_objects', { objects: { 1: { name: 'Kiel' } } });
      await post('/rc/v1/users', { attributes: { login: 'ada', password: PASSWORD } });
      const id = await syncedDevice('ada', 'Pier');
      await post('/app/v1/Pier/push_objects', { objects: { 2: { name: 'Bremen' } } });
      const page = await openConsole('sources/Pier');
      const device = page.getByRole('main').getByRole('link', { name: SHOWN, exact: true }).first();
      await page.getByRole('table', { name: 'Devices behind' }).getByText(id).waitFor();
      expect(await device.getAttribute('title')).toBe(`${SHOWN} · ${id}`);
      for (const path of ['activity?view=past', 'audit?about=ada', 'tokens?show=sessions&text=firefox']) {
        await page.goto(`${server.url}/console/${path}`);
        await device.waitFor();
        expect([path, await device.getAttribute('href')]).toEqual([path, `/console/devices/${id}`]);
      }
      await device.click();
      await page.getByRole('heading', { level: 1, name: SHOWN }).waitFor();
    },
  );

  itLong(
    '[CONSOLE-140] at 1280 pixels a long login hides no column of the devices and of the activity, and what happened is never cut off',
    async () => {
      const login = `${'maximiliane-'.repeat(6)}@example.com`;
      await post('/rc/v1/sources', { name: 'Quay', partition_type: 'user' });
      await post('/rc/v1/users', { attributes: { login, password: PASSWORD } });
      await post('/sync/v1/login', { login, password: PASSWORD, device: FIREFOX });
      await post('/app/v1/Quay/push_objects', { user_id: login, objects: { 1: { name: 'Kiel' } } });
      const page = await openConsole('devices?text=maximiliane');
      expect(page.viewportSize()?.width).toBe(1_280);
      const widths = () =>
        page.evaluate(`[...document.querySelectorAll('.card.flush, button.sentence')].map(
        (one) => one.scrollWidth <= one.clientWidth)`) as Promise<boolean[]>;
      await page.getByRole('link', { name: login }).waitFor();
      expect(await widths()).toEqual([true]);
      for (const view of ['', '&view=past']) {
        await page.goto(`${server.url}/console/activity?user=${login}${view}`);
        await page.getByText('push_objects: 1 changed, now at seq 1').waitFor();
        expect([view, await widths()]).toEqual([view, [true, true, true]]);
      }
    },
  );

  it('[CONSOLE-142] the data of a source of users or groups offers its owners, and one click shows the objects', async () => {
    await post('/rc/v1/sources', { name: 'Crew', partition_type: 'group' });
    await post('/rc/v1/users', { attributes: { login: 'gina', password: PASSWORD } });
    await post('/rc/v1/users/gina/groups', { groups: ['pilots'] });
    await post('/app/v1/Crew/push_objects', { group: 'pilots', objects: { c1: { name: 'Kiel' } } });
    const page = await openConsole('data?source=Crew');
    await page.getByRole('button', { name: 'pilots', exact: true }).click();
    await page.getByRole('grid', { name: 'Objects' }).getByText('c1', { exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?source=Crew&group=pilots');
  });

  it('[CONSOLE-94] named tokens come first, sessions are a choice away, and both are found by a text', async () => {
    await post('/rc/v1/tokens', { name: 'erp', scopes: ['push'] });
    const page = await openConsole('tokens');
    const table = page.getByRole('table', { name: 'Tokens' });
    await table.getByText('erp').waitFor();
    expect(await table.getByText('login', { exact: true }).count()).toBe(0);
    const visited = await page.evaluate('history.length');
    await page.getByLabel('Show').selectOption('Sessions of people and devices');
    await table.getByText('login', { exact: true }).first().waitFor();
    await expect.poll(() => table.getByText('erp', { exact: true }).count()).toBe(0);
    await page.getByLabel('Find', { exact: true }).fill('ERP');
    await page.getByRole('heading', { name: 'No such token' }).waitFor();
    await page.getByLabel('Show').selectOption('All tokens');
    await page.getByText(/^1 of \d+ tokens found$/).waitFor();
    expect(new URL(page.url()).search).toBe('?show=all&text=ERP');
    // The button Back leads to the screen before, not through everything that was typed.
    expect(await page.evaluate('history.length')).toBe(visited);
  });

  it('[CONSOLE-95] the last day shows what succeeded, and a list of failures that is empty offers it', async () => {
    await post('/rc/v1/users', { attributes: { login: 'bob', password: PASSWORD } });
    await post('/sync/v1/login', { login: 'bob', password: PASSWORD });
    const page = await openConsole('activity?user=bob');
    await page.getByText('Last day', { exact: true }).click();
    const lines = page.getByRole('table', { name: 'Activity' });
    await lines.getByText('login', { exact: true }).first().waitFor();
    await page.getByLabel('Only refusals and failures').check();
    await page.getByText('No refusal or failure of the kind has happened.').waitFor();
    await page.getByRole('button', { name: 'Show what succeeded, too' }).click();
    await lines.getByText('login', { exact: true }).first().waitFor();
    expect(new URL(page.url()).search).toBe('?user=bob&view=past');
  });

  it('[CONSOLE-96] a device that has signed in and not pulled yet is behind by a dash that says why', async () => {
    await post('/rc/v1/users', { attributes: { login: 'cleo', password: PASSWORD } });
    const { client_id } = await post('/sync/v1/login', { login: 'cleo', password: PASSWORD, device: FIREFOX });
    const page = await openConsole('devices?text=cleo');
    const row = page.getByRole('row', { name: String(client_id) });
    await row.getByTitle('Nothing is known yet: the device has not pulled.').waitFor();
    expect(await row.getByText('never').count()).toBe(0);
    await page.goto(`${server.url}/console/users?text=cleo`);
    const user = page.getByRole('row', { name: 'cleo' });
    await user.getByTitle('Nothing is known: no device of this user has pulled yet.').waitFor();
    expect(await user.getByText('never').count()).toBe(0);
  });

  it('[CONSOLE-97] a filtered and sorted table of objects has an address that shows the same again', async () => {
    await post('/rc/v1/sources', { name: 'Buoy', partition_type: 'app' });
    const objects = Object.fromEntries([1, 2, 3].map((n) => [`b${n}`, { depth: n, name: `Buoy ${n}` }]));
    await post('/app/v1/Buoy/push_objects', { objects });
    await post('/rc/v1/sources', { name: 'Lamp', partition_type: 'app' });
    await post('/app/v1/Lamp/push_objects', { objects: { l1: { name: 'Lamp 1' } } });
    const page = await openConsole('data?source=Buoy');
    const grid = page.getByRole('grid', { name: 'Objects' });
    const firstId = () => grid.getByRole('row').nth(1).getByRole('gridcell').nth(0).textContent();
    await grid.getByText('b1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByLabel('Attribute').selectOption('depth');
    await page.getByLabel('Operator').selectOption('≥');
    await page.getByLabel('Value').fill('2');
    await page.getByRole('button', { name: 'Apply' }).click();
    const depth = grid.getByRole('columnheader', { name: 'depth' });
    await depth.click();
    await depth.click();
    const isThere = async () => [await grid.getByText('b1', { exact: true }).count(), await firstId()];
    await expect.poll(isThere, PATIENCE).toEqual([0, 'b3']);
    expect(new URL(page.url()).searchParams.toString()).toBe(
      'source=Buoy&filter=%5B%5B%22depth%22%2C%22gte%22%2C%222%22%5D%5D&sort=depth&order=desc',
    );
    await page.reload();
    await expect.poll(isThere, PATIENCE).toEqual([0, 'b3']);
    expect(await page.getByLabel('Value').inputValue()).toBe('2');
    // Another source has other attributes.
    await page.getByLabel('Source', { exact: true }).selectOption('Lamp');
    await grid.getByText('l1', { exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?source=Lamp');
  });

  itLong('[CONSOLE-98] the palette finds a device by its name, and none by a text that no device has', async () => {
    await post('/rc/v1/users', { attributes: { login: 'dora', password: PASSWORD } });
    const device = { device_name: 'Crane 4' };
    const { client_id } = await post('/sync/v1/login', { login: 'dora', password: PASSWORD, device });
    const page = await openConsole('');
    await page.getByRole('button', { name: 'Find' }).click();
    const field = page.getByRole('combobox', { name: /Screen, action/ });
    for (const text of ['crane', String(client_id)]) {
      await field.fill(text);
      await page.getByRole('option', { name: /^Crane 4\s*device of dora$/ }).waitFor();
    }
    await field.fill('dora');
    await page.getByRole('option', { name: /^Crane 4/ }).waitFor();
    // The user is among the names that were loaded, and among those that the server finds.
    const user = page.getByRole('option', { name: /^dora\s*user$/ });
    await user.waitFor();
    expect(await user.count()).toBe(1);
    await field.fill('no-such-thing');
    await page.getByText('Nothing has this name.').waitFor();
    await field.fill('crane');
    await page.getByRole('option', { name: /^Crane 4/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Crane 4' }).waitFor();
  });

  it('[CONSOLE-99] the users stay while the server does not answer, and a screen that was not read says so', async () => {
    // The screen of a group brings the code of that of all groups, and reads other data.
    const page = await openConsole('groups/north', { expectedErrors: [/ERR_|Failed to/] });
    await page.getByText('Nobody is in this group').waitFor();
    await page.getByRole('link', { name: 'Users' }).click();
    const table = page.getByRole('table', { name: 'Users' });
    await table.getByRole('link', { name: 'admin' }).waitFor();
    await page.context().setOffline(true);
    await page.getByLabel('Find', { exact: true }).fill('dora');
    await page.getByText('The server does not answer').first().waitFor(PATIENCE);
    await table.getByRole('link', { name: 'admin' }).waitFor();
    await page.getByRole('link', { name: 'Groups' }).first().click();
    await page.getByText('This was not read before the server stopped answering.').waitFor(PATIENCE);
    await page.context().setOffline(false);
    await page.getByText('This was not read').waitFor({ ...PATIENCE, state: 'hidden' });
  });
});
