import { ALL_JOURNALS, ALL_OBJECTS } from './keys.ts';
import { MAP_BYTES, openTables } from './tables.ts';

// Reads every page of the store file named on the command line. A damaged file can only crash this process.
const [, , path] = process.argv;
if (path === undefined) throw new Error('usage: read-all.js <store.mdb>');
const { root, live, tombstones, index, ...others } = openTables(path, { mapBytes: MAP_BYTES, isReadOnly: true });
let units = 0;
for (const { value } of live.getRange(ALL_JOURNALS)) units += value.length;
for (const { value } of tombstones.getRange(ALL_JOURNALS)) units += value.length;
for (const { value } of index.getRange(ALL_OBJECTS)) units += value.length;
for (const table of Object.values(others)) {
  for (const { value } of table.getRange({})) units += value.length;
}
await root.close();
process.stdout.write(`${units}\n`);
