import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { type Page, useBrowser as startBrowser } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startDemoProcess } from './demo-process.ts';

const browser = startBrowser();

const order = (page: Page, name: string, id: number) =>
  page.getByRole('region', { name, exact: true }).locator(`[data-order="${id}"]`);

it('[PG-330] one command starts the demo on Postgres: the UPDATE that it prints shows on the three devices, and their changes go back', async () => {
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

  // What a crew changes is made in the database, whose rules decide.
  const first = order(page, 'Crew North', 1);
  await first.getByRole('button').first().click();
  await first.getByRole('button', { name: 'In progress' }).click();
  await page.locator('.backend tr[data-order="1"]').getByText('in progress').waitFor();
  await first.getByLabel('Part', { exact: true }).selectOption('P-1022');
  await first.getByLabel('Quantity').fill('9');
  await first.getByRole('button', { name: 'Book' }).click();
  const refused = page.getByRole('region', { name: 'Refused' });
  await refused.getByText('only 5 of Circulation pump 230 V are left').waitFor();
  await refused.getByRole('button', { name: 'OK' }).click();

  // A policy of the table lets nobody book parts on an order that is done.
  const done = order(page, 'Crew Harbour', 7);
  await done.getByRole('button').first().click();
  await done.getByLabel('Part', { exact: true }).selectOption('P-1502');
  await done.getByRole('button', { name: 'Book' }).click();
  await refused.getByText('this user may not do that').waitFor();
  await refused.getByRole('button', { name: 'OK' }).click();

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
