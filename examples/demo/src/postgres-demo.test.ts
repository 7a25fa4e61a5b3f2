import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { type Page, useBrowser as startBrowser } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startDemoProcess } from './demo-process.ts';

const browser = startBrowser();

const order = (page: Page, name: string, id: number) =>
  page.getByRole('region', { name, exact: true }).locator(`[data-order="${id}"]`);

it('[PG-330] one command starts the demo on Postgres, and the UPDATE that it prints shows on the three devices', async () => {
  const { child, said } = startDemoProcess('0', ['--postgres']);
  onTestFinished(async () => {
    if (child.kill('SIGTERM')) await once(child, 'exit');
  });
  const text = await said;
  const [url = text] = /http:\S+/.exec(text) ?? [];
  const [command = text] = /^psql .*$/m.exec(text) ?? [];
  const page = await browser.openPage(url);
  await page.getByText('All devices and the database agree').waitFor();
  await page.getByText(command).waitFor();

  const { stdout } = await promisify(execFile)('bash', ['-c', command]);
  expect(stdout).toBe('UPDATE 9\n');
  const shown = [order(page, 'Dispatch', 8), order(page, 'Crew North', 1), order(page, 'Crew Harbour', 4)];
  for (const one of shown) await one.getByText('Gate code 4711.').waitFor();

  // The depot follows the technician, and the order with its parts follows the depot.
  await promisify(execFile)('bash', [
    '-c',
    command.replace(/UPDATE.*"$/, `UPDATE work_orders SET technician = 'crew-north' WHERE id = 4"`),
  ]);
  await order(page, 'Crew North', 4).getByRole('button').first().click();
  await order(page, 'Crew North', 4).getByText('3 × Door gasket, cold room').waitFor();
  await order(page, 'Crew Harbour', 4).waitFor({ state: 'detached' });
  await page.getByText('All devices and the database agree').waitFor();
});
