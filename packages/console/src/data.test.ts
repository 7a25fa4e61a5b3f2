import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { itLong, type Page, useBrowser } from '@tidemark/testing';
import {
  callsTo,
  consoleOf,
  HOSTILE,
  heading,
  PATIENCE,
  signIn,
  startTestServer,
  type TestServer,
} from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

const { post, objectsOf, newDevice } = callsTo(() => server);

describe('in a browser', () => {
  const browser = useBrowser();
  const openConsole = consoleOf(browser, () => server);

  it('[CONSOLE-41] objects are saved as CSV or JSON, and a stat as CSV', async () => {
    await post('/rc/v1/sources', { name: 'Crate', partition_type: 'app' });
    await post('/app/v1/Crate/push_objects', { objects: { c1: { name: HOSTILE }, c2: { name: '=1+1' } } });
    const page = await openConsole('data?source=Crate');
    await page.getByRole('grid', { name: 'Objects' }).getByText(HOSTILE).waitFor();
    const exportAs = async (format: RegExp) => {
      await page.getByRole('button', { name: 'Export' }).click();
      return saved(page, page.getByRole('menuitem', { name: format }));
    };
    const csv = await exportAs(/^CSV/);
    expect(csv.name).toBe('Crate.csv');
    expect(csv.text.split('\r\n').sort()).toEqual(
      ['', 'id,name', `c1,"${HOSTILE.replaceAll('"', '""')}"`, "c2,'=1+1"].sort(),
    );
    const json = await exportAs(/^JSON/);
    expect(JSON.parse(json.text)).toEqual({ c1: { name: HOSTILE }, c2: { name: '=1+1' } });
    await page.goto(`${server.url}/console/stats?pattern=http:*`);
    const stat = await saved(page, page.getByRole('button', { name: /^Save .* as CSV$/ }).first());
    expect(stat.text).toMatch(/^time,count,sum,min,max\n[0-9-]+T[0-9:.]+Z,/);
  });

  it('[CONSOLE-42] an import shows what is new, changed and unchanged before anything is sent', async () => {
    await post('/rc/v1/sources', { name: 'Dock', partition_type: 'app' });
    await post('/app/v1/Dock/push_objects', { objects: { 1: { name: 'Kiel', berths: 4 }, 2: { name: 'Bremen' } } });
    const page = await openConsole('data?source=Dock');
    const pushes: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/push_objects')) pushes.push(request.postData() ?? '');
    });
    await page.getByRole('button', { name: 'Import' }).click();
    const hostile = HOSTILE.replaceAll('"', '""');
    await page.getByLabel('Or paste it here').fill(`secret,no,name\nx,1,Kiel II\ny,2,Bremen\nz,"${hostile}",New\n`);
    await page.getByLabel('Column with the id').selectOption('no');
    await page.getByRole('button', { name: 'secret' }).click();
    await page.getByRole('button', { name: 'Review' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 new, 1 changed, 1 unchanged.').waitFor();
    await dialog.getByText('Every object of the file was compared with the 2 objects that are stored.').waitFor();
    expect(await dialog.getByRole('list', { name: 'Difference' }).getByRole('listitem').allTextContents()).toEqual([
      '1name"Kiel""Kiel II"',
    ]);
    await dialog.getByText(`New: ${HOSTILE}`).waitFor();
    expect(pushes).toEqual([]);
    await page.getByRole('button', { name: 'Import 2 objects' }).click();
    await dialog.waitFor({ state: 'detached' });
    // What is sent is what was reviewed, also when the text has changed while it was compared.
    const comparisons = '**/sources/Dock/objects*';
    const changed = new EventTarget();
    const isChanged = once(changed, 'text');
    await page.route(comparisons, async (route) => {
      await isChanged;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByLabel('Or paste it here').fill('{"3": {"name": "Rostock"}}');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByLabel('Or paste it here').fill('{"4": {"name": "Stade"}}');
    changed.dispatchEvent(new Event('text'));
    await dialog.getByText('New: 3').waitFor();
    await page.unroute(comparisons);
    await page.getByRole('button', { name: 'Import 1 object' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await objectsOf('Dock')).toEqual({
      1: { name: 'Kiel II', berths: 4 },
      2: { name: 'Bremen' },
      3: { name: 'Rostock' },
      [HOSTILE]: { name: 'New' },
    });
    expect(pushes.join()).not.toContain('Bremen');
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByLabel('Or paste it here').fill('{"2": {"name": "Bremen"}}');
    await page.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('0 new, 0 changed, 1 unchanged.').waitFor();
    expect(await page.getByRole('button', { name: 'Import 0 objects' }).isDisabled()).toBe(true);
  });

  itLong(
    '[CONSOLE-44] closing the dialog stops an import after the batch under way, says what was imported, and can continue',
    async () => {
      await post('/rc/v1/sources', { name: 'Pier', partition_type: 'app' });
      const page = await openConsole('data?source=Pier');
      await page.getByRole('button', { name: 'Import' }).click();
      const dialog = page.getByRole('dialog');
      const objects = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`o${index}`, { n: index }]));
      await dialog.getByLabel('Or paste it here').fill(JSON.stringify(objects));
      await dialog.getByRole('button', { name: 'Review' }).click();
      const pushes = '**/app/v1/Pier/push_objects';
      const gate = new EventTarget();
      const isOpened = once(gate, 'open');
      let calls = 0;
      await page.route(pushes, async (route) => {
        calls += 1;
        await isOpened;
        await route.continue();
      });
      await dialog.getByRole('button', { name: 'Import 5,000 objects' }).click();
      await dialog.getByRole('button', { name: 'Stop', exact: true }).waitFor();
      await expect.poll(() => calls, PATIENCE).toBe(1);
      await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'Stopping', exact: true }).waitFor();
      gate.dispatchEvent(new Event('open'));
      await dialog.getByText('Stopped after 2,000 objects. The other 3,000 were not sent.').waitFor();
      expect(calls).toBe(1);
      expect(Object.keys(await objectsOf('Pier'))).toHaveLength(2_000);
      await dialog.getByRole('button', { name: 'Import 3,000 more objects' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(calls).toBe(3);
      expect(await objectsOf('Pier')).toEqual(objects);
    },
  );

  it('[CONSOLE-43] documents of all users, a user, a group, a device and the server are found, opened and linked', async () => {
    await post('/rc/v1/sources', { name: 'Log', partition_type: 'app' });
    await post('/rc/v1/sources', { name: 'Crew', partition_type: 'group' });
    const device = await newDevice('dora', 'Log');
    const documents = {
      '/rc/v1/users/*/sources/Log/docs/shared-notes': HOSTILE,
      '/rc/v1/users/dora/sources/Log/docs/user-notes': 'of the user',
      [`/rc/v1/clients/${device}/sources/Log/docs/device-notes`]: 'of the device',
      '/rc/v1/groups/north/sources/Crew/docs/group-notes': 'of the group',
      '/rc/v1/store/md': 'of the server',
    };
    for (const [path, data] of Object.entries(documents)) await post(path, { data });
    const page = await openConsole('data?source=Log');
    const open = async (kind: string, whose: string | null, doc: string) => {
      await page.getByLabel('Documents of').selectOption(kind);
      if (whose !== null) {
        await page.getByLabel(kind === 'client' ? 'Device id' : 'Name', { exact: true }).fill(whose);
        await page.keyboard.press('Enter');
      }
      await page.getByRole('button', { name: doc, exact: true }).click();
      const text = await page.getByRole('dialog').getByLabel('Content').inputValue();
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      return text;
    };
    expect(await open('user', 'dora', 'user-notes')).toBe('of the user');
    expect(await open('client', device, 'device-notes')).toBe('of the device');
    await page.getByLabel('Source', { exact: true }).selectOption('Crew');
    expect(await open('group', 'north', 'group-notes')).toBe('of the group');
    // On the server, md is a name like any other.
    expect(await open('server', null, 'md')).toBe('of the server');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /Screen, action/ }).fill('log shared-notes');
    await page.getByRole('option', { name: /shared-notes of Log/, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    expect(await page.getByRole('dialog').getByLabel('Content').inputValue()).toBe(HOSTILE);
    expect(new URL(page.url()).search).toBe('?source=Log&of=shared&doc=shared-notes');
    await page.reload();
    await page.getByRole('dialog', { name: 'Document shared-notes' }).getByLabel('Content').waitFor();
  });

  itLong(
    '[CONSOLE-46] the first of many documents are shown, and the others are found by a part of their name',
    async () => {
      const doc = (index: number) => `doc-${String(index).padStart(3, '0')}`;
      for (let index = 0; index < 230; index += 1) await post(`/rc/v1/store/${doc(index)}`, { data: 'of many' });
      const page = await openConsole('data?of=server');
      const shown = page.getByRole('table', { name: 'Documents' }).getByRole('button', { name: /^doc-/ });
      await page.getByText(/documents; the first 100 are shown\.$/).waitFor();
      expect(await page.getByRole('button', { name: doc(229), exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Show more documents' }).click();
      await page.getByText(/the first 200 are shown\.$/).waitFor();
      await page.getByLabel('Find a document by a part of its name').fill('OC-22');
      await page.getByText('10 documents found.').waitFor();
      await expect.poll(() => shown.count(), PATIENCE).toBe(10);
      await page.getByRole('button', { name: doc(229), exact: true }).click();
      expect(await page.getByRole('dialog').getByLabel('Content').inputValue()).toBe('of many');
    },
  );

  itLong(
    '[CONSOLE-43] a document of the server is made and saved without any source, and a text stays a text',
    async () => {
      const fresh = await startTestServer();
      onTestFinished(() => fresh.close());
      const stored = async (path: string) => {
        const headers = { authorization: `Bearer ${fresh.token}`, accept: 'application/json' };
        return (await fetch(`${fresh.url}${path}`, { headers })).json();
      };
      const page = await browser.openPage(`${fresh.url}/console/data`);
      await signIn(page);
      await page.getByRole('button', { name: 'New document' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('motd');
      await dialog.getByLabel('Content').fill('{"looks": {"like": "objects"}}');
      await dialog.getByRole('button', { name: 'Save document' }).click();
      await page.getByRole('button', { name: 'motd' }).click();
      expect(await stored('/rc/v1/store/motd')).toBe('{"looks": {"like": "objects"}}');
      await dialog.getByLabel('Stored as').selectOption('objects');
      await dialog.getByLabel('Content').fill('[1]');
      await dialog.getByText('This is not JSON of objects by id').waitFor();
      expect(await dialog.getByRole('button', { name: 'Save document' }).isDisabled()).toBe(true);
      await dialog.getByLabel('Content').fill('{"1": {"title": "Ebb"}}');
      await dialog.getByRole('button', { name: 'Save document' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await stored('/rc/v1/store/motd')).toEqual({ 1: { title: 'Ebb' } });
      expect(await stored('/rc/v1/store')).toEqual(['motd']);
    },
  );

  itLong(
    '[CONSOLE-43] the palette finds documents of the server, groups, and the data of users and groups',
    async () => {
      await post('/rc/v1/sources', { name: 'Diary', partition_type: 'user' });
      await post('/rc/v1/sources', { name: 'Quay', partition_type: 'group' });
      await post('/rc/v1/users', { attributes: { login: 'petra', password: 'sea-urchin-4410' } });
      await post('/rc/v1/users/petra/groups', { groups: ['pilots'] });
      await post('/app/v1/Diary/push_objects', { user_id: 'petra', objects: { e1: { title: 'First entry' } } });
      await post('/app/v1/Quay/push_objects', { group: 'pilots', objects: { q1: { title: 'Berth of the pilots' } } });
      await post('/rc/v1/store/harbour-rules', { data: 'Slow down' });
      const page = await openConsole('');
      await heading(page, 'Overview');
      const find = async (typed: string, option: RegExp) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: /Screen, action/ }).fill(typed);
        await page.getByRole('option', { name: option, selected: true }).waitFor();
        await page.keyboard.press('Enter');
        await page.getByRole('dialog', { name: 'Find' }).waitFor({ state: 'detached' });
      };
      await find('group pilots', /^pilots\s*group$/);
      await page.getByRole('table', { name: 'Members' }).getByRole('link', { name: 'petra' }).waitFor();
      await find('diary petra', /^Diary of petra\s*data of user$/);
      await page.getByRole('row', { name: /e1.*First entry/ }).waitFor();
      await page.goto(`${server.url}/console/data?source=Quay&group=nobody`);
      await page.getByText('push objects Quay --group nobody objects.json').waitFor();
      await find('quay pilots', /^Quay of pilots\s*data of group$/);
      await page.getByRole('row', { name: /q1.*Berth of the pilots/ }).waitFor();
      await find('rules server', /^harbour-rules of the server\s*document$/);
      expect(await page.getByRole('dialog').getByLabel('Content').inputValue()).toBe('Slow down');
      expect(new URL(page.url()).search).toBe('?of=server&doc=harbour-rules');
    },
  );
});

/** Clicks on what saves a file. Returns the file. */
async function saved(page: Page, button: { click(): Promise<void> }) {
  const download = page.waitForEvent('download');
  await button.click();
  const file = await download;
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}
