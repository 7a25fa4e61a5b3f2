import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeUser, useBrowser as startBrowser, temporaryFolder, USER_PASSWORD } from '@tidemark/testing';
import { type BuiltApp, startBuiltApp } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

const GUIDE = new URL('../../../docs/guides/photos-and-documents.md', import.meta.url);
/** A picture of one pixel. */
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

let app: BuiltApp;
const browser = startBrowser();

beforeAll(async () => {
  const [, sample = ''] = /^```tsx\n(.*?)^```$/ms.exec(await readFile(GUIDE, 'utf8')) ?? [];
  const code = (url: string) => `
    import { type AnyFile, openDevice } from '@tidemark/client';
    import { TidemarkProvider, useFile, useQuery } from '@tidemark/react';
    import { createRoot } from 'react-dom/client';
    ${sample}
    function Photos() {
      return useQuery('Order').map(({ id, attributes }) => <Photo key={id} file={attributes.photo as never} />);
    }
    function Kept({ file }: { file: AnyFile }) {
      const { url } = useFile(file);
      return url === null ? null : <img className="kept" src={url} alt="" />;
    }
    const device = await openDevice({ url: '${url}' });
    const root = createRoot(document.getElementById('root')!);
    root.render(<TidemarkProvider device={device}><Photos /></TidemarkProvider>);
    const keep = (file: AnyFile) => root.render(<TidemarkProvider device={device}><Kept file={file} /></TidemarkProvider>);
    const show = (name: string) => root.render(<p className={name} />);
    const revoked: string[] = [];
    const revoke = URL.revokeObjectURL;
    URL.revokeObjectURL = (address) => { revoked.push(address); revoke(address); };
    const made: string[] = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = (content) => { made.push(make(content)); return made.at(-1)!; };
    const bytes = Uint8Array.from(atob('${GIF}'), (unit) => unit.charCodeAt(0));
    Object.assign(window, { device, root, keep, show, made, revoked, bytes });
    document.body.setAttribute('data-ready', '');
  `;
  app = await startBuiltApp({ folder: 'react', code, body: '<div id="root"></div>' });
  await app.admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
});

afterAll(() => app.close());

async function openApp() {
  const page = await browser.openPage(app.url, { expectedErrors: [/ERR_INTERNET_DISCONNECTED/, /status of 404/] });
  await page.locator('body[data-ready]').waitFor({ state: 'attached' });
  await page.evaluate(`device.signIn({ login: 'ada', password: '${USER_PASSWORD}' }).then(() => device.sync())`);
  return page;
}

it('[FILES-94] a component shows a photo that was taken without a network, and another device shows it when it has arrived', async () => {
  await makeUser(app.server, 'ada');
  const [camera, office] = [await openApp(), await openApp()];
  await camera.evaluate(`device.goOffline()`);
  await camera.evaluate(`device.files.add(bytes, { type: 'image/gif' })
    .then((photo) => device.source('Order').create({ photo }, { id: 'o' }))`);
  const picture = (page: typeof camera) => page.locator('img');
  const isShown = (page: typeof camera) =>
    expect.poll(() => page.evaluate(`document.querySelector('img')?.naturalWidth`), { timeout: 60_000 }).toBe(1);
  await isShown(camera);
  const shown = await picture(camera).getAttribute('src');
  expect(shown).toMatch(/^blob:/);
  await camera.evaluate(`device.goOnline()`);
  await isShown(office);
  await camera.evaluate(`device.source('Order').delete('o')`);
  await picture(camera).waitFor({ state: 'detached' });
  expect(await camera.evaluate('revoked')).toEqual([shown]);
});

it('[FILES-94] a component shows a photo again after its user has signed out and in', async () => {
  await makeUser(app.server, 'grace');
  const page = await browser.openPage(app.url, { expectedErrors: [/status of 404/] });
  await page.locator('body[data-ready]').waitFor({ state: 'attached' });
  const signIn = `device.signIn({ login: 'grace', password: '${USER_PASSWORD}' }).then(() => device.sync())`;
  await page.evaluate(signIn);
  await page.evaluate(`device.files.add(bytes, { type: 'image/gif' })
    .then((photo) => device.source('Order').create({ photo }, { id: 'p' }))`);
  const width = () => page.evaluate(`document.querySelector('img.kept')?.naturalWidth`);
  await page.evaluate(`device.sync().then(() => keep(device.source('Order').get('p').attributes.photo))`);
  await expect.poll(width, { timeout: 60_000 }).toBe(1);
  const shown = await page.locator('img.kept').getAttribute('src');
  await expect.poll(() => page.evaluate('device.files.waiting.getSnapshot().length'), { timeout: 60_000 }).toBe(0);
  await page.evaluate('device.signOut()');
  await page.locator('img.kept').waitFor({ state: 'detached' });
  await page.evaluate(signIn);
  await page.locator('img.kept').waitFor({ state: 'attached' });
  expect(await page.locator('img.kept').getAttribute('src')).not.toBe(shown);
  await expect.poll(width, { timeout: 60_000 }).toBe(1);
});

it('[FILES-94] a component that is gone before the address of its file is made leaves no address behind', async () => {
  await makeUser(app.server, 'mary');
  const page = await browser.openPage(app.url);
  await page.locator('body[data-ready]').waitFor({ state: 'attached' });
  await page.evaluate(`device.signIn({ login: 'mary', password: '${USER_PASSWORD}' }).then(() => device.sync())`);
  const isAsked = await page.evaluate(`(async () => {
    const photo = await device.files.add(bytes, { type: 'image/gif' });
    const { url } = device.files;
    const gone = new Promise((resolve) => { window.goOn = resolve; });
    const asked = new Promise((resolve) => {
      device.files.url = async (file) => {
        resolve(file.$file.sha256 === photo.$file.sha256);
        await gone;
        return url.call(device.files, file);
      };
    });
    keep(photo);
    return asked;
  })()`);
  expect(isAsked).toBe(true);
  // The effects of a component that is gone end before the next one is rendered.
  for (const name of ['another', 'last']) {
    await page.evaluate(`show('${name}')`);
    await page.locator(`p.${name}`).waitFor({ state: 'attached' });
  }
  await page.evaluate('goOn()');
  await expect.poll(() => page.evaluate('made.length'), { timeout: 60_000 }).toBe(1);
  await expect.poll(() => page.evaluate('revoked.length'), { timeout: 60_000 }).toBe(1);
  expect(await page.evaluate('revoked[0] === made[0]')).toBe(true);
});

it('[FILES-80] a picked file stays as it was added, whatever becomes of it on the disk, and one that cannot be read is refused', async () => {
  await makeUser(app.server, 'joan');
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const page = await browser.openPage(app.url);
  await page.locator('body[data-ready]').waitFor({ state: 'attached' });
  await page.evaluate(`device.signIn({ login: 'joan', password: '${USER_PASSWORD}' }).then(() => device.goOffline())`);
  await page.evaluate(`document.body.append(Object.assign(document.createElement('input'), { type: 'file' }))`);
  const path = join(folder.path, 'notes.txt');
  const pick = () => page.locator('input').setInputFiles(path);
  const add = 'device.files.add(document.querySelector("input").files[0])';
  await writeFile(path, 'before');
  await pick();
  await page.evaluate(`${add}.then((added) => { window.added = added; })`);
  await writeFile(path, 'changed since');
  const refused = (sort: string) => expect(page.evaluate(add), sort).rejects.toThrow(/could not be read|not be found/);
  await refused('changed');
  await pick();
  await rm(path);
  await refused('deleted');
  expect(await page.evaluate('device.files.blob(added).then((blob) => blob.text())')).toBe('before');
  expect(await page.evaluate('[added.$file.name, device.files.waiting.getSnapshot().length]')).toEqual([
    'notes.txt',
    1,
  ]);
});
