import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { itLong, useBrowser } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { Marked } from 'marked';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDocs, deadLinksOf } from '../build-docs.mjs';
import { ROOT } from '../processes.mjs';
import { blocksOf } from '../samples.mjs';
import { highlight } from './highlight.mjs';
import { renderPage } from './markdown.mjs';
import { referencePages } from './reference.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
const PAGES = ['index.html', 'tutorial.html', 'operating/configuration.html'];

describe('building', () => {
  const render = (text, known = ['other.md', 'decisions/README.md']) =>
    renderPage(Marked, { path: 'sdk/x.md', text, known: new Set(known) });

  it('[DOCS-4] HTML in a page fails the build', () => {
    expect(() => render('# A\n\n<b>bold</b>')).toThrow('sdk/x.md: HTML is not allowed in pages: <b>');
    expect(render('# A\n\n`<b>`').html).toContain('<code>&lt;b&gt;</code>');
  });

  it('[DOCS-4] a link to a page or a heading that does not exist is found', () => {
    const { html, anchors } = render('# A\n\n[b](#a) [c](#b) [d](../other.md) [e](../other.md#f) ![g](h.svg)');
    const written = new Map([
      ['sdk/x.html', { html, anchors }],
      ['other.html', { html: '', anchors: new Set() }],
    ]);
    expect(deadLinksOf(written, () => false)).toEqual([
      'sdk/x.html → #b',
      'sdk/x.html → ../other.html#f',
      'sdk/x.html → h.svg',
    ]);
  });

  it('links stay in the site where there is a page, and lead to the repository otherwise', () => {
    const { html } = render('# A\n\n[a](../other.md#b) [c](../decisions) [d](../../packages/cli)');
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      '../other.html#b',
      '../decisions/index.html',
      'https://github.com/tidemark-sync/tidemark/blob/main/packages/cli',
    ]);
  });

  it('headings have the anchors of GitHub, also when a title occurs twice, and rules have theirs', () => {
    const { anchors } = render('# One: `two`\n\n## Same\n\n## Same\n\n- **[PAGE-3]** x');
    expect([...anchors]).toEqual(['one-two', 'same', 'same-1', 'page-3']);
  });

  it('[DOCS-8] the reference lists every route and what the packages export', async () => {
    const pages = await referencePages(ROOT);
    expect(pages.get('reference/rest.md')).toContain('| `POST /app/v1/:source_name/push_objects` | `push` |');
    const exported = {
      client: 'openDevice',
      react: 'useQuery',
      backend: 'createHandler',
      'client-testing': 'openTestServer',
    };
    for (const [name, title] of Object.entries(exported)) {
      const page = pages.get(`reference/${name}.md`);
      expect(page).toContain(`### ${title}\n`);
      const unbalanced = blocksOf(page).filter(({ text }) => text.split('{').length !== text.split('}').length);
      expect(unbalanced).toEqual([]);
    }
  });

  it('code is coloured without losing a character', () => {
    const code = 'const a = "<b>"; // 1 & 2\n';
    const html = highlight(code, 'ts');
    expect(html).toContain('<span class="string">&quot;&lt;b&gt;&quot;</span>');
    expect(
      html
        .replace(/<[^>]*>/g, '')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&'),
    ).toBe(code);
  });
});

describe('in the browser', () => {
  const browser = useBrowser();
  let server;

  beforeAll(async () => {
    await buildDocs();
    server = await startTestServer();
  });

  afterAll(() => server.close());

  const isTooWide = (page) => page.evaluate('document.documentElement.scrollWidth > innerWidth');

  it('[SITE-5] pages have no serious accessibility problem, light and dark, and fit the screen, wide and narrow', async () => {
    const page = await browser.openPage(`${server.url}/docs/`, { colorScheme: 'light', viewport: WIDE });
    const problems = [];
    const look = async (what, options) => {
      const { violations } = await page.evaluate(`axe.run(${JSON.stringify(options)})`);
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      const found = serious.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
      if (await isTooWide(page)) found.push('too wide');
      problems.push(...found.map((problem) => `${what}: ${problem}`));
    };
    for (const path of PAGES) {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize(WIDE);
      await page.goto(`${server.url}/docs/${path}`);
      await page.evaluate(AXE);
      await look(`${path}, light`, { resultTypes: ['violations'] });
      await page.setViewportSize(NARROW);
      // A narrow page shows one more thing in colours, the button of the menu, which is the same on all pages.
      const contrast = { enabled: path === PAGES[0] };
      await look(`${path}, narrow`, { resultTypes: ['violations'], rules: { 'color-contrast': contrast } });
      await page.setViewportSize(WIDE);
      await page.emulateMedia({ colorScheme: 'dark' });
      // Only the contrast depends on the colours.
      await look(`${path}, dark`, { resultTypes: ['violations'], runOnly: ['color-contrast'] });
    }
    expect(problems).toEqual([]);
  });

  it('[SITE-6] the search finds a section by its words and opens it', async () => {
    const page = await browser.openPage(`${server.url}/docs/sdk/guide.html`);
    await page.keyboard.press('/');
    await page.getByRole('searchbox').fill('leader lease');
    await page.getByRole('status').getByText('results').waitFor();
    await page.getByRole('searchbox').fill('rejected changes');
    const result = page.getByRole('link', { name: 'The device SDK › Rejected changes and conflicts' });
    await result.click();
    await page.waitForURL('**/sdk/guide.html#rejected-changes-and-conflicts');
  });

  itLong(
    '[DOCS-42] the viewer of the API leads back to the documentation, and violates no policy, light and dark, wide and narrow',
    async () => {
      // The page fails the test when the browser reports an error.
      const page = await browser.openPage(`${server.url}/docs/api`, { colorScheme: 'light', viewport: WIDE });
      await page.getByRole('heading', { name: /Tidemark administration and push API/ }).waitFor();
      await page.getByRole('link', { name: /^users/ }).click();
      await page.getByText('/rc/v1/users', { exact: true }).first().click();
      await page.getByText('Parameters', { exact: true }).first().waitFor();
      expect(await isTooWide(page)).toBe(false);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize(NARROW);
      expect(await isTooWide(page)).toBe(false);
      expect(await page.locator('.topbar').count()).toBe(0);
      await page.getByRole('link', { name: 'Documentation' }).click();
      await page.waitForURL('**/docs/');
    },
  );

  it('[SITE-6] the choice of dark stays on the next page', async () => {
    const page = await browser.openPage(`${server.url}/docs/`, { colorScheme: 'light' });
    await page.getByRole('button', { name: 'Dark mode' }).click();
    await page.goto(`${server.url}/docs/reference/errors.html`);
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    expect(await page.getByRole('button', { name: 'Dark mode' }).getAttribute('aria-pressed')).toBe('true');
  });

  it('[SITE-5] on a phone the menu shows the pages', async () => {
    const page = await browser.openPage(`${server.url}/docs/`, { viewport: { width: 390, height: 844 } });
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Queries' });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await link.click();
    await page.getByRole('heading', { level: 1, name: 'Queries' }).waitFor();
  });
});
