import { startPostgres, useBrowser } from '@tidemark/testing';
import { consoleOf, heading, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

type Postgres = Awaited<ReturnType<typeof startPostgres>>;

let postgres: Postgres;
let server: TestServer;

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql.unsafe(`CREATE TABLE products (id int PRIMARY KEY, name text);
    INSERT INTO products VALUES (1, 'rope'), (2, 'hook'); CREATE PUBLICATION tidemark FOR TABLE products`);
  const { username, password, port, pathname } = new URL(postgres.url);
  const address = {
    ...{ host: '127.0.0.1', port: Number(port), database: pathname.slice(1), rootCertificateFile: null },
    ...{ user: decodeURIComponent(username), password: decodeURIComponent(password) },
    tls: 'off' as const,
  };
  const mapping = {
    ...{ publication: 'tidemark', slot: 'tidemark', members: {}, users: {} },
    tables: { 'public.products': { source: 'Product', owner: 'shared' } },
  } as const;
  server = await startTestServer({
    connectors: [{ name: 'field', kind: 'postgres', address, mapping, mappingFile: 'mapping.jsonc' }],
  });
});

afterAll(async () => {
  await server.close();
  await postgres.remove();
});

describe('in a browser', () => {
  const browser = useBrowser();
  const openConsole = consoleOf(browser, () => server);

  it('[CONSOLE-160] a connector shows its slot and how far each table is copied, and asks its database what is missing, with the SQL that mends it', async () => {
    const page = await openConsole('connectors');
    await page.getByRole('table', { name: 'Connectors' }).getByText('1 of 1 ready').waitFor();
    await page.getByRole('link', { name: 'field' }).click();
    await heading(page, 'field');
    const main = page.getByRole('main');
    const [row] = await main
      .getByRole('table', { name: 'Tables' })
      .getByRole('row')
      .filter({ hasText: 'public.products' })
      .all();
    expect(await row?.textContent()).toContain('ready100 %2');
    await main.getByText('reserved', { exact: true }).waitFor();
    const check = async () => {
      await main.getByRole('button', { name: 'Check the database' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Check', exact: true }).click();
      return page.getByRole('dialog').getByRole('status');
    };
    await postgres.sql`ALTER PUBLICATION tidemark DROP TABLE products`;
    const findings = await check();
    await findings.getByText('the publication "tidemark" lacks the table "public.products"').waitFor();
    await findings.getByText('ALTER PUBLICATION "tidemark" ADD TABLE "public"."products";').waitFor();
  });
});
