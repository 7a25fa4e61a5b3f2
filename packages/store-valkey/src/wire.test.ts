import { startValkey, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readAddress } from './address.ts';
import { Connection } from './connection.ts';
import { lua, script } from './scripts/script.ts';
import { listOf, prepareList, textListOf } from './wire.ts';

let server: ValkeyServer;
let connection: Connection;

beforeAll(async () => {
  server = await startValkey({ settings: { appendonly: 'no' } });
  const address = readAddress(server.address);
  if (address === null) throw new Error('the kit gave no address');
  // A loaded machine takes long for the long list, which is not what is tested here.
  connection = await Connection.open({ address, answerMs: 300_000 });
});

afterAll(async () => {
  connection.close();
  await server.remove();
});

it.each([0, 1, 16, 17, 1_000, 1_001, 120_000])('[VALKEY-16] a list of %i members reaches a script', async (count) => {
  const echo = script('echo', { effect: 'reads', parameters: { members: 'list' }, body: lua`return members` });
  const list = Array.from({ length: count }, (_, index) => (index % 7 === 0 ? '' : `${index} é\0\u{1f600}`));
  for (const members of [list, await prepareList(list, (member) => member)]) {
    expect(textListOf(await connection.run(echo, [], echo.args({ members })))).toEqual(list);
  }
});

it('[VALKEY-16] a script reads every kind of argument under its declared name', async () => {
  const echo = script('echo_kinds', {
    effect: 'reads',
    parameters: {
      ...{ someText: 'text', someNumber: 'number', isSet: 'flag', isUnset: 'flag' },
      ...{ given: 'optional_number', absent: 'optional_number', someRows: ['rowName', 'count'] },
      ...{ someTable: { innerText: 'text', inner: 'list' }, noTable: { innerText: 'text' }, last: 'text' },
    },
    body: lua`return { some_text, some_number + 1, tostring(is_set), tostring(is_unset), given, tostring(absent),
      #some_rows, some_rows[2].row_name, some_rows[2].count, some_table.inner_text, some_table.inner, tostring(no_table), last }`,
  });
  const args = echo.args({
    ...{ someText: 'text', someNumber: 1, isSet: true, isUnset: false, given: 0, absent: null },
    someRows: [
      { rowName: 'a', count: 1 },
      { rowName: 'b', count: 2 },
    ],
    ...{ someTable: { innerText: '', inner: ['x', 'y'] }, noTable: null, last: 'end' },
  });
  const [...reply] = listOf(await connection.run(echo, [], args));
  const shown = reply.map((one) => (Array.isArray(one) ? textListOf(one) : Buffer.isBuffer(one) ? String(one) : one));
  expect(shown).toEqual(['text', 2, 'true', 'false', 0, 'nil', 2, 'b', '2', '', ['x', 'y'], 'nil', 'end']);
});
