import { useBrowser } from '@tidemark/testing';
import { callsTo, consoleOf, PATIENCE, REFUSED, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

const { post, objectsOf } = callsTo(() => server);
describe('in a browser', () => {
  const openConsole = consoleOf(useBrowser(), () => server);
  const open = (path: string) => openConsole(path, { expectedErrors: REFUSED });

  it('[CONSOLE-120] a cell of an object that somebody has deleted or changed meanwhile is not saved, and not undone', async () => {
    await post('/rc/v1/sources', { name: 'Ship', partition_type: 'app' });
    const ships = { a: { name: 'Ada', seats: 4 }, b: { name: 'Bo', seats: 5 }, c: { name: 'Cy', seats: 6 } };
    await post('/app/v1/Ship/push_objects', { objects: ships });
    const page = await open('data?source=Ship');
    const grid = page.getByRole('grid', { name: 'Objects' });
    const edit = async (id: string, value: string) => {
      await grid.getByText(String(ships[id as 'a'].seats), { exact: true }).dblclick();
      await page.getByLabel(`seats of ${id}`, { exact: true }).fill(value);
      await page.keyboard.press('Enter');
    };
    await grid.getByText('Cy').waitFor();
    await post('/app/v1/Ship/push_deletes', { objects: ['a'] });
    await edit('a', '40');
    await page
      .getByRole('alert')
      .getByText(/somebody has deleted it/)
      .waitFor();
    expect(Object.keys(await objectsOf('Ship'))).toEqual(['b', 'c']);
    await post('/app/v1/Ship/push_objects', { objects: { b: { seats: 55 } } });
    await edit('b', '50');
    await page
      .getByRole('alert')
      .getByText(/somebody has changed it/)
      .waitFor();
    await grid.getByText('55', { exact: true }).waitFor();
    await edit('c', '60');
    await page.getByRole('status').getByText('Saved').waitFor();
    await post('/app/v1/Ship/push_objects', { objects: { c: { seats: 66 } } });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page
      .getByRole('alert')
      .getByText(/somebody has changed it/)
      .waitFor();
    expect(await objectsOf('Ship')).toEqual({ b: { name: 'Bo', seats: 55 }, c: { name: 'Cy', seats: 66 } });
  });

  it('[CONSOLE-121] an object is added only under an id that is free', async () => {
    await post('/rc/v1/sources', { name: 'Crew', partition_type: 'app' });
    await post('/app/v1/Crew/push_objects', { objects: { 7: { title: 'Captain' } } });
    const page = await open('data?source=Crew');
    const add = async (id: string) => {
      await page.getByRole('button', { name: 'Add object' }).click();
      await page.getByRole('textbox', { name: 'Id', exact: true }).fill(id);
      await page.getByLabel('Attributes as JSON').fill('{"title": "Cook"}');
      await page.getByRole('button', { name: 'Review' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
    };
    await add('7');
    await page
      .getByRole('alert')
      .getByText(/an object “7” already/)
      .waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await add('8');
    await page.getByRole('grid', { name: 'Objects' }).getByText('Cook').waitFor();
    expect(await objectsOf('Crew')).toEqual({ 7: { title: 'Captain' }, 8: { title: 'Cook' } });
  });

  it('[CONSOLE-122] the tokens screen says that it has found all named tokens, and how many others there are', async () => {
    await post('/rc/v1/tokens', { name: 'backend', scopes: ['push'] });
    const page = await open('tokens');
    await page.getByRole('table', { name: 'Tokens' }).getByText('backend').waitFor();
    await page.getByText(/^\d+ of \d+ tokens found$/).waitFor();
  });

  it('[CONSOLE-123] from a line of the last day all of its device and user are shown of the last day', async () => {
    await post('/rc/v1/users', { attributes: { login: 'finn', password: 'a password of finn' } });
    await post('/sync/v1/login', { login: 'finn', password: 'a password of finn' });
    const page = await open('activity?view=past&kinds=login&user=finn');
    await page.getByRole('table', { name: 'Activity' }).getByTitle('Show all of it').first().click();
    await page.getByRole('link', { name: 'Show all of this device' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('device'), PATIENCE).not.toBeNull();
    expect(new URL(page.url()).searchParams.get('view')).toBe('past');
  });

  it('[CONSOLE-124] the menu leads from a search to the whole list', async () => {
    await post('/rc/v1/users', { attributes: { login: 'gwen', password: 'a password of gwen' } });
    const page = await open('users?text=no-such-user');
    await page.getByText('No such user').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('table', { name: 'Users' }).getByText('gwen').waitFor();
    expect(await page.getByLabel('Find', { exact: true }).inputValue()).toBe('');
  });
});
