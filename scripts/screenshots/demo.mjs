import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LOOK = { colorScheme: 'light', viewport: { width: 1440, height: 860 } };
/** The water of the gauges rises for a moment. */
const SETTLE_MS = 1_500;

/** Takes a picture of the demo: one crew is offline and two changes behind, the other has a conflict to resolve. */
export async function takeDemo(browser) {
  const { startDemo } = await import('../../examples/demo/dist/start-demo.js');
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-demo-'));
  const demo = await startDemo({ folder, port: 0 });
  try {
    const page = await browser.newPage(LOOK);
    await page.goto(demo.url);
    await page.getByText('All devices and the backend agree').waitFor();
    await prepare(page);
    await page.waitForTimeout(SETTLE_MS);
    return await page.screenshot({ animations: 'disabled' });
  } finally {
    await demo.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function prepare(page) {
  const device = (name) => page.getByRole('region', { name, exact: true });
  const network = (name) => page.getByRole('switch', { name: `Network of ${name}` });
  const order = (name, title) => device(name).getByRole('listitem').filter({ hasText: title });
  const write = async (name, title, notes) => {
    await order(name, title).getByRole('button').first().click();
    await order(name, title).getByLabel('Notes').fill(notes);
  };
  await network('Crew Harbour').click();
  await write('Crew Harbour', 'Heating in the waiting hall', 'Radiators bled, pump runs.');
  await page.getByRole('button', { name: 'Prepare a conflict' }).click();
  await device('Crew North').locator('.gauge:not([data-behind="0"])').waitFor();
  await network('Crew North').click();
  await device('Crew North').getByRole('region', { name: 'Conflict' }).waitFor();
  await write('Dispatch', 'Kitchen: warm water too hot', 'The caretaker has the keys.');
  await write('Dispatch', 'Cold room 3', 'Bring the spare compressor.');
  await device('Crew Harbour').locator('.gauge[data-behind="2"]').waitFor();
}
