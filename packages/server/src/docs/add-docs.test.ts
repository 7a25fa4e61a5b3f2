import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttp } from '../http/app.ts';
import { addDocs } from './add-docs.ts';
import { MOVED_PAGES } from './moved-pages.ts';

const HTML = 'text/html; charset=utf-8';
const BUILT = {
  'index.html': HTML,
  'sdk/guide.html': HTML,
  'sdk/guide.md': 'text/markdown; charset=utf-8',
  'decisions/index.html': HTML,
  'assets/site-1a2b.js': 'text/javascript; charset=utf-8',
  'llms.txt': 'text/plain; charset=utf-8',
  'llms-full.txt': 'text/plain; charset=utf-8',
};

async function openDocs() {
  const folder = await temporaryFolder();
  const app = await buildHttp({ bodyBytesMax: 1_000 }, (http) => addDocs(http, pathToFileURL(`${folder.path}/`)));
  onTestFinished(async () => {
    await app.close();
    await folder.remove();
  });
  const build = async () => {
    const listed = Object.entries(BUILT).map(([name, type]) => [name, { type, hash: `h-${name}`, hasGzip: true }]);
    for (const [name] of listed as [string, object][]) {
      await mkdir(join(folder.path, name, '..'), { recursive: true });
      await writeFile(join(folder.path, name), `content of ${name}`);
      await writeFile(join(folder.path, `${name}.gz`), gzipSync(`content of ${name}`));
    }
    await writeFile(join(folder.path, 'secret.html'), 'not part of the build');
    await writeFile(join(folder.path, 'files.json'), JSON.stringify(Object.fromEntries(listed)));
  };
  return { app, build };
}

async function openBuiltDocs() {
  const { app, build } = await openDocs();
  await build();
  return app;
}

it.each([
  ['/docs/', 'index.html'],
  ['/docs/index.html', 'index.html'],
  ['/docs/sdk/guide.html', 'sdk/guide.html'],
  ['/docs/sdk/guide', 'sdk/guide.html'],
  ['/docs/sdk/guide.md', 'sdk/guide.md'],
  ['/docs/decisions/', 'decisions/index.html'],
  ['/docs/assets/site-1a2b.js', 'assets/site-1a2b.js'],
  ['/docs/llms.txt', 'llms.txt'],
  ['/llms.txt', 'llms.txt'],
  ['/llms-full.txt', 'llms-full.txt'],
] as const)('[SITE-1] %s answers %s with its type', async (url, name) => {
  const { statusCode, headers, body } = await (await openBuiltDocs()).inject({ url });
  expect([statusCode, headers['content-type'], body]).toEqual([200, BUILT[name], `content of ${name}`]);
});

it('[SITE-1] /docs leads to /docs/', async () => {
  const { statusCode, headers } = await (await openBuiltDocs()).inject({ url: '/docs' });
  expect([statusCode, headers.location]).toEqual([302, '/docs/']);
});

it.each([
  ['errors.html', '/docs/reference/errors.html'],
  ['errors.md', '/docs/reference/errors.md'],
  ['backend', '/docs/backend/contract'],
])('[SITE-47] /docs/%s, where a page was before it was moved, leads to %s', async (path, location) => {
  const { statusCode, headers } = await (await openBuiltDocs()).inject({ url: `/docs/${path}` });
  expect([statusCode, headers.location]).toEqual([301, location]);
});

it('[SITE-47] every page that has moved is where its old address leads, and not at its old address', () => {
  const isPage = (page: string) => existsSync(new URL(`../../../../docs/${page}.md`, import.meta.url));
  expect([...MOVED_PAGES].filter(([before, now]) => isPage(before) || !isPage(now))).toEqual([]);
});

it.each([
  'nowhere',
  'secret.html',
  'secret',
  'files.json',
  '..%2fpackage.json',
  '%2e%2e/package.json',
  'sdk/..%2f..%2fpackage.json',
  '/etc/passwd',
  'index.html.gz',
])('[SITE-2] /docs/%s is not found, because the build does not list it', async (path) => {
  const { statusCode, body } = await (await openBuiltDocs()).inject({ url: `/docs/${path}` });
  expect(statusCode).toBe(404);
  expect(body).not.toMatch(/not part of the build|root:|"version"/);
});

it('[SITE-3] pages have an ETag, are revalidated and are compressed for callers that allow it', async () => {
  const app = await openBuiltDocs();
  const plain = await app.inject({ url: '/docs/sdk/guide.html' });
  expect(plain.headers).toMatchObject({ etag: '"h-sdk/guide.html"', 'cache-control': 'no-cache' });
  const again = await app.inject({ url: '/docs/sdk/guide.html', headers: { 'if-none-match': '"h-sdk/guide.html"' } });
  expect([again.statusCode, again.body]).toEqual([304, '']);
  const gzip = await app.inject({ url: '/docs/sdk/guide.html', headers: { 'accept-encoding': 'gzip' } });
  expect(gzip.rawPayload.equals(gzipSync('content of sdk/guide.html'))).toBe(true);
  const asset = await app.inject({ url: '/docs/assets/site-1a2b.js' });
  expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
});

it('[SITE-3] the policy of the documentation allows nothing inline and nothing of other sites', async () => {
  const { headers } = await (await openBuiltDocs()).inject({ url: '/docs/' });
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).not.toMatch(/unsafe|\*|upgrade/);
  expect(headers['x-content-type-options']).toBe('nosniff');
});

it('[SITE-4] before the site is built /docs/ says how to build it and leads to the API, and shows the site afterwards', async () => {
  const { app, build } = await openDocs();
  const hint = await app.inject({ url: '/docs/' });
  expect([hint.statusCode, hint.headers['content-type']]).toEqual([200, HTML]);
  expect(hint.body).toMatch(/npm run docs.*href="\/docs\/api\/"/s);
  expect(hint.headers['content-security-policy']).toContain("default-src 'none'");
  expect((await app.inject({ url: '/docs/sdk/guide.html' })).statusCode).toBe(404);
  await build();
  expect((await app.inject({ url: '/docs/' })).body).toBe('content of index.html');
});
