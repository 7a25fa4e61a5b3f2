export type { SqliteDatabases } from './database-series.ts';
export { type ExpoSqliteDatabase, expoSqlite } from './drivers/expo-sqlite.ts';
export { type NodeSqliteDatabase, nodeSqlite } from './drivers/node-sqlite.ts';
export { type OpSqliteDatabase, opSqlite } from './drivers/op-sqlite.ts';
export { type WasmSqliteDatabase, wasmSqlite } from './drivers/wasm-sqlite.ts';
export { type HealingStoreOptions, openHealingSqliteStore } from './healing-store.ts';
export type { SqliteDamage } from './replace-database.ts';
export type { SqliteDriver, SqliteRow, SqliteValue } from './sqlite-driver.ts';
export { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
