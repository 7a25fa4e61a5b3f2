import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitScripts, useBrowser } from './browser.ts';
import { collectErrors } from './chromium.ts';

const PAGE = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Page</title>';

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const isMissing = request.url === '/missing';
    response.writeHead(isMissing ? 404 : 200, {
      'content-type': 'text/html',
      'content-security-policy': "default-src 'self'; img-src data:",
    });
    response.end(PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://localhost:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('a page of the test browser', () => {
  const browser = useBrowser();

  it('lets the test pass when the page has no errors', async () => {
    const page = await browser.openPage(url);
    expect(await page.evaluate('document.title')).toBe('Page');
  });

  it('lets the test pass when the page has the errors that the test expects', async () => {
    const page = await browser.openPage(url, { expectedErrors: [/known failure/] });
    await page.evaluate("console.error('a known failure')");
  });

  it.fails('makes the test fail when the page has another error', async () => {
    const page = await browser.openPage(url, { expectedErrors: [/known failure/] });
    await page.evaluate("console.error('planted')");
  });

  it('makes the test fail with the script and the page when a script does not end', async () => {
    const page = await browser.openPage(url);
    limitScripts(page, 100);
    await expect(page.evaluate('new Promise(() => undefined)')).rejects.toThrow(
      `the script has not ended after 100 ms in the page ${url}/:\nnew Promise(() => undefined)`,
    );
  });

  it.each([
    ['an error it logs', "console.error('planted')", /^console: planted/],
    ['an exception', "setTimeout(() => { throw new Error('planted'); })", /^uncaught: Error: planted/],
    ['a rejected promise', "void Promise.reject(new Error('planted'))", /^uncaught: Error: planted/],
    ['a request for what is missing', "fetch('/missing')", /^console: .*404.*missing\)$/],
    ['an inline script against its CSP', script("textContent: '1'"), /^console: .*inline script violates/],
    [
      'a foreign script against its CSP',
      script("src: 'http://127.0.0.1:1/x.js'"),
      /^console: Loading the script.*violates/,
    ],
    [
      'a style against its CSP',
      "document.body.setAttribute('style', 'color: red')",
      /^console: .*inline style violates/,
    ],
    ['evaluated text against its CSP', "setTimeout(() => setTimeout('1'))", /^console: .*'unsafe-eval'/],
    [
      'a connection against its CSP',
      "fetch('http://127.0.0.1:1').catch(() => 0)",
      /^console: .*Connecting to .*violates/,
    ],
  ])('collects %s as an error of the page', async (_, planted, error) => {
    const page = await browser.openPage(url, { expectedErrors: [/./] });
    const errors: string[] = [];
    collectErrors(page, errors);
    await page.evaluate(planted);
    await expect.poll(() => errors).toContainEqual(expect.stringMatching(error));
  });
});

function script(property: string): string {
  return `document.body.append(Object.assign(document.createElement('script'), { ${property} }))`;
}
