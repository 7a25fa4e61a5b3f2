import type { LocalStore } from '@tidemark/client';
import type { NodeSqliteDatabase, WasmSqliteDatabase } from '@tidemark/sqlite';
import { CliFailure } from './cli-failure.ts';

interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => NodeSqliteDatabase;
}

interface WasmSqlite {
  readonly Database: new (file: string) => WasmSqliteDatabase;
}

/** Opens a device's store in a SQLite file, with the SQLite of Node.js, or with the package beside the command line. */
export async function openSqliteFile(file: string): Promise<LocalStore> {
  const { nodeSqlite, openSqliteStore, wasmSqlite } = await import('@tidemark/sqlite');
  const own = await optional<NodeSqlite>('node:sqlite');
  if (own !== null) return openSqliteStore(nodeSqlite(new own.DatabaseSync(file)));
  const installed = await optional<WasmSqlite & { readonly default?: WasmSqlite }>('node-sqlite3-wasm');
  const wasm = installed?.default ?? installed;
  if (wasm !== null) return openSqliteStore(wasmSqlite(new wasm.Database(file)));
  throw new CliFailure('this Node.js has no SQLite', {
    code: 'store_failed',
    hint: 'use Node.js 22.13 or newer, or install the package node-sqlite3-wasm beside tidemark',
  });
}

/** A module that may be missing. Its name is no literal, so that it does not get into the bundle. */
async function optional<M>(name: string): Promise<M | null> {
  try {
    return (await import(name)) as M;
  } catch {
    return null;
  }
}
