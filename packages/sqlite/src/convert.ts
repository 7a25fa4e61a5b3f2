import type { LocalRow } from '@tidemark/client';
import type { JsonValue } from '@tidemark/protocol';
import type { ObjectsTable } from './objects-table.ts';
import type { SqliteDriver, SqliteRow } from './sqlite-driver.ts';
import { keyIn } from './stored-text.ts';

const PAGE = 5_000;
const NEXT = `SELECT part, key, value FROM rows WHERE name = 'objects' ORDER BY part, key LIMIT ? OFFSET ?`;

/** Version 1 had objects among the other rows. Within the transaction that raises the version. */
export async function convertFrom1(driver: SqliteDriver, objects: ObjectsTable): Promise<void> {
  let count = 0;
  for (;;) {
    const page = await driver.all(NEXT, [PAGE, count]);
    await objects.put(page.map(objectOf));
    count += page.length;
    if (page.length < PAGE) break;
  }
  await driver.run("DELETE FROM rows WHERE name = 'objects'", []);
}

function objectOf({ part, key, value }: SqliteRow): LocalRow {
  return {
    table: 'objects',
    key: [keyIn(String(part)), keyIn(String(key))],
    value: JSON.parse(String(value)) as JsonValue,
  };
}
