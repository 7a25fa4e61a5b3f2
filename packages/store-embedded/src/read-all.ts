import { MAP_BYTES, openRoot, openTextTable, tableNames } from './tables.ts';

// Reads every page of the store file named on the command line. A damaged file can only crash this process.
const [, , path] = process.argv;
if (path === undefined) throw new Error('usage: read-all.js <store.mdb>');
const root = openRoot(path, { mapBytes: MAP_BYTES, isReadOnly: true });
let units = 0;
for (const name of tableNames(root)) {
  for (const { value } of openTextTable(root, name).getRange({})) units += value.length;
}
await root.close();
process.stdout.write(`${units}\n`);
