import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttp } from '../http/app.ts';
import { addConsole } from './add-console.ts';

const PAGE = '<!doctype html><title>Tidemark</title>';
const SCRIPT = 'console.log(1)';

async function openConsole(isBuilt = true) {
  const folder = await temporaryFolder();
  const add = (name: string, content: string | Buffer) => writeFile(join(folder.path, name), content);
  if (isBuilt) {
    await add('secret.txt', 'not part of the build');
    await add('index.html', PAGE);
    await add('index.html.gz', gzipSync(PAGE));
    const files = { 'index.html': { type: 'text/html; charset=utf-8', hash: 'p1', hasGzip: true } };
    await add('files.json', JSON.stringify(files));
  }
  const url = pathToFileURL(`${folder.path}/`);
  const app = await buildHttp({ bodyBytesMax: 1_000 }, (http) => addConsole(http, url));
  onTestFinished(async () => {
    await app.close();
    await folder.remove();
  });
  return app;
}

async function openWithAsset() {
  const folder = await temporaryFolder();
  const { mkdir } = await import('node:fs/promises');
  await mkdir(join(folder.path, 'assets'));
  await writeFile(join(folder.path, 'assets/app-1a2b.js'), SCRIPT);
  const files = { 'assets/app-1a2b.js': { type: 'text/javascript; charset=utf-8', hash: 's1', hasGzip: false } };
  await writeFile(join(folder.path, 'files.json'), JSON.stringify(files));
  const url = pathToFileURL(`${folder.path}/`);
  const app = await buildHttp({ bodyBytesMax: 1_000 }, (http) => addConsole(http, url));
  onTestFinished(async () => {
    await app.close();
    await folder.remove();
  });
  return app;
}

it('[CONSOLE-4] browsers are led to the console, and callers that prefer JSON get links', async () => {
  const app = await openConsole();
  for (const url of ['/', '/console']) {
    const { statusCode, headers } = await app.inject({ url, headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([statusCode, headers.location]).toEqual([302, '/console/']);
  }
  const links = await app.inject({ url: '/', headers: { accept: 'application/json' } });
  expect(links.json()).toMatchObject({ name: 'tidemark', console: '/console/', api: '/openapi.json' });
});

it.each(['', 'sources', 'sources/a.b', 'users/%3Cimg%3E', 'secret.txt', '..%2Fsecret.txt', 'files.json'])(
  '[CONSOLE-4] /console/%s answers the page of the console',
  async (path) => {
    const { statusCode, body } = await (await openConsole()).inject({ url: `/console/${path}` });
    expect([statusCode, body]).toEqual([200, PAGE]);
  },
);

it('[CONSOLE-4] an asset that is not part of the build is refused, and so is everything when nothing was built', async () => {
  const missing = await (await openConsole()).inject({ url: '/console/assets/old-1234.js' });
  expect([missing.statusCode, missing.json().code]).toEqual([404, 'not_found']);
  const unbuilt = await (await openConsole(false)).inject({ url: '/console/' });
  expect([unbuilt.statusCode, unbuilt.json().detail]).toEqual([404, expect.stringContaining('npm run setup')]);
});

it('[CONSOLE-5] the page has an ETag, is revalidated, and is compressed for callers that allow it', async () => {
  const app = await openConsole();
  const plain = await app.inject({ url: '/console/' });
  expect(plain.headers).toMatchObject({ etag: '"p1"', 'cache-control': 'no-cache', vary: 'accept-encoding' });
  const gzip = await app.inject({ url: '/console/', headers: { 'accept-encoding': 'gzip, br' } });
  expect(gzip.headers).toMatchObject({ etag: '"p1-gzip"', 'content-encoding': 'gzip' });
  expect(gzip.rawPayload.equals(gzipSync(PAGE))).toBe(true);
  const again = await app.inject({ url: '/console/', headers: { 'if-none-match': '"p1"' } });
  expect([again.statusCode, again.body]).toEqual([304, '']);
  const head = await app.inject({ method: 'HEAD', url: '/console/' });
  expect([head.statusCode, head.headers['content-length'], head.body]).toEqual([200, String(PAGE.length), '']);
});

it('[CONSOLE-5] a file with a hash in its name can be cached forever', async () => {
  const { headers, body } = await (await openWithAsset()).inject({ url: '/console/assets/app-1a2b.js' });
  expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect([headers['content-type'], body]).toEqual(['text/javascript; charset=utf-8', SCRIPT]);
});

it('[CONSOLE-5] the policy allows nothing inline and works over plain HTTP', async () => {
  const { headers } = await (await openConsole()).inject({ url: '/console/' });
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("script-src 'self'; style-src 'self'");
  expect(policy).not.toMatch(/unsafe|upgrade-insecure-requests|\*/);
  expect(headers['x-content-type-options']).toBe('nosniff');
});
