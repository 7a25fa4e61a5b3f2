import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Page, useBrowser } from '@tidemark/testing';
import { callsTo, consoleOf, PATIENCE, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PASSWORD = 'sea-urchin-4410';
/** A picture of one red pixel. */
const RED_PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);
const PAGE = Buffer.from('<html><script>document.title = "taken over"</script></html>');

interface Reference {
  readonly $file: { readonly sha256: string; readonly size: number; readonly type: string; readonly name?: string };
}

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

const { post } = callsTo(() => server);

async function store(bytes: Buffer, name: string, type: string): Promise<Reference> {
  const headers = { 'content-type': type, authorization: `Bearer ${server.token}` };
  const body = new Uint8Array(bytes);
  const stored = await fetch(`${server.url}/rc/v1/files?name=${name}`, { method: 'POST', headers, body });
  return (await stored.json()) as Reference;
}

/** The colour in the middle of the picture that is shown. */
const SHOWN_COLOUR = `(() => {
  const canvas = document.querySelector('canvas');
  return [canvas.width, canvas.height, ...canvas.getContext('2d').getImageData(0, 0, 1, 1).data];
})()`;

async function downloaded(page: Page): Promise<readonly [name: string, bytes: Buffer]> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const saved = await download;
  return [saved.suggestedFilename(), await readFile(await saved.path())];
}

describe('in a browser', () => {
  const browser = useBrowser();
  const openConsole = consoleOf(browser, () => server);

  it('[CONSOLE-150] [CONSOLE-151] [CONSOLE-153] [CONSOLE-154] a picture is found, shown and saved, leads to its object, and the object shows it again', async () => {
    await post('/rc/v1/sources', { name: 'Visit', partition_type: 'app' });
    const photo = await store(RED_PIXEL, 'bow.png', 'image/png');
    const others = await Promise.all(
      ['drawing', 'note'].map((text) => store(Buffer.from(text), `${text}.txt`, 'text/plain')),
    );
    await post('/app/v1/Visit/push_objects', { objects: { v1: { photo, others }, v2: { title: 'Without' } } });
    const page = await openConsole('files?source=Visit');
    const files = page.getByRole('table', { name: 'Files' });
    await files.getByRole('link', { name: 'note.txt' }).waitFor();
    expect(await files.getByRole('link').allTextContents()).toHaveLength(3);
    await files.getByRole('link', { name: 'bow.png' }).click();
    await page.getByRole('img', { name: 'Picture bow.png' }).waitFor();
    expect(await page.evaluate(SHOWN_COLOUR)).toEqual([1, 1, 255, 0, 0, 255]);
    await page.getByText('a backend', { exact: true }).waitFor();
    expect(await downloaded(page)).toEqual(['bow.png', RED_PIXEL]);

    await page.getByRole('table', { name: 'Objects' }).getByRole('link', { name: 'v1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Object v1' });
    await dialog.getByRole('list', { name: 'Files of the object' }).getByText('image/png, 69 bytes').waitFor();
    expect(await dialog.locator('canvas').count()).toBe(0);
    await dialog.getByRole('button', { name: /^Show the picture/ }).click();
    await dialog.getByRole('img', { name: 'Picture bow.png' }).waitFor();
    expect(await dialog.getByLabel('Attributes as JSON').inputValue()).toContain(photo.$file.sha256);
    await page.keyboard.press('Escape');
    const grid = page.getByRole('grid', { name: 'Objects' });
    await grid.getByText('drawing.txt and 1 more file').waitFor();
    await grid.getByRole('link', { name: 'bow.png, 69 bytes' }).click();
    await page.getByRole('heading', { level: 1, name: 'bow.png' }).waitFor();
  });

  it('[CONSOLE-151] a page with scripts that is called a picture is not shown, and is saved as mere bytes', async () => {
    await post('/rc/v1/sources', { name: 'Trap', partition_type: 'app' });
    const trap = await store(PAGE, 'trap.png', 'image/png');
    await post('/app/v1/Trap/push_objects', { objects: { 1: { trap } } });
    const page = await openConsole(`files/${trap.$file.sha256}`);
    await page.getByText('its bytes are none that this browser knows').waitFor();
    expect([await page.locator('canvas').count(), await page.locator('iframe, object, embed').count()]).toEqual([0, 0]);
    expect(await downloaded(page)).toEqual(['trap.png', PAGE]);
    expect(await page.title()).toBe('trap.png · Tidemark');
  });

  it('[CONSOLE-155] the receipts of a source say how many files have not arrived, and lead to their device', async () => {
    await post('/rc/v1/sources', { name: 'Log', partition_type: 'app' });
    await post('/rc/v1/users', { attributes: { login: 'olga', password: PASSWORD } });
    const device = { device_name: 'Phone of the pier' };
    const { token, client_id } = await post('/sync/v1/login', { login: 'olga', password: PASSWORD, device });
    const page = await openConsole('sources/Log');
    await page.getByText('all have arrived', { exact: true }).waitFor();
    const sha256 = createHash('sha256').update('on the pier').digest('hex');
    const attributes = { photo: { $file: { sha256, size: 9, type: 'image/jpeg', name: 'pier.jpg' } } };
    const changes = [{ op_id: '1', source: 'Log', op: 'create', id: '1', attributes }];
    await post('/sync/v1/push', { client_id, changes }, token);
    await page.getByRole('link', { name: '1 file has not arrived' }).click(PATIENCE);
    const files = page.getByRole('table', { name: 'Files still only on devices' });
    await files.getByRole('link', { name: 'pier.jpg' }).waitFor();
    await files.getByRole('link', { name: 'Phone of the pier' }).click();
    await page.getByRole('heading', { name: 'Phone of the pier' }).waitFor();
  });

  it('[CONSOLE-152] a file that is still only on a device is listed with device and user, on its page and on the screen of the device', async () => {
    await post('/rc/v1/sources', { name: 'Trip', partition_type: 'user' });
    await post('/rc/v1/users', { attributes: { login: 'anna', password: PASSWORD } });
    const device = { device_name: 'Tablet of the van' };
    const { token, client_id } = await post('/sync/v1/login', { login: 'anna', password: PASSWORD, device });
    const sha256 = createHash('sha256').update('not sent').digest('hex');
    const attributes = { photo: { $file: { sha256, size: 8, type: 'image/jpeg', name: 'stern.jpg' } } };
    const changes = [{ op_id: '1', source: 'Trip', op: 'create', id: '1', attributes }];
    await post('/sync/v1/push', { client_id, changes }, token);
    const page = await openConsole('files?show=missing');
    const row = page
      .getByRole('table', { name: 'Files still only on devices' })
      .getByRole('row', { name: /stern\.jpg/ });
    await row.getByRole('link', { name: 'Tablet of the van' }).waitFor();
    expect(await row.getByRole('link', { name: 'anna' }).getAttribute('href')).toBe('/console/users/anna');
    await row.getByRole('link', { name: 'stern.jpg' }).click();
    await page.getByText('Its bytes have not arrived').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Tablet of the van' }).click();
    const ofDevice = page.getByRole('table', { name: 'Files still only on devices' });
    await ofDevice.getByRole('link', { name: 'stern.jpg' }).waitFor(PATIENCE);
  });

  it('[CONSOLE-157] a file that the server has lost is shown as lost, and not as one that was never sent', async () => {
    await post('/rc/v1/sources', { name: 'Keel', partition_type: 'app' });
    const lose = async (text: string) => {
      const stored = await store(Buffer.from(text), `${text}.txt`, 'text/plain');
      const { sha256 } = stored.$file;
      if (text === 'keel') await post('/app/v1/Keel/push_objects', { objects: { k1: { stored } } });
      await rm(join(server.config.dataFolder, 'files', 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256));
      await post(`/rc/v1/files/${sha256}/verify`, {});
      return sha256;
    };
    const [keel, ballast] = [await lose('keel'), await lose('ballast')];
    const page = await openConsole(`files/${keel}`);
    const said = () => page.getByRole('main').getByRole('alert').textContent();
    expect(await said()).toContain('The server has lost its bytes');
    expect(await said()).toContain('sends it again within about an hour of use');
    await page.goto(`${server.url}/console/files/${ballast}`);
    expect(await said()).toContain('No object refers to it, so no device sends it again');
    await page.goto(`${server.url}/console/files?source=Keel`);
    await page.getByRole('table', { name: 'Files' }).getByText('lost', { exact: true }).waitFor();
    await page.goto(`${server.url}/console/files/${keel}`);
    await page.getByRole('table', { name: 'Objects' }).getByRole('link', { name: 'k1' }).click();
    const inObject = page.getByRole('dialog', { name: 'Object k1' }).getByRole('list', { name: 'Files of the object' });
    await inObject.getByText('lost', { exact: true }).waitFor();
  });
});
