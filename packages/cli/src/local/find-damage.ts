import type { Finding } from '@tidemark/core';
import { inspectRecord } from '@tidemark/core/verify';
import { findDamage as findDamageInProcess } from '@tidemark/server/backups/find-damage';
import type { Config } from '@tidemark/server/config/config';
import { permissionFailure } from './ownership.ts';
import { storeFailure, withStore } from './with-store.ts';

/** Recomputes a store from its records, and returns every difference. An embedded store is read by a process of its own. */
export async function findDamage(config: Config, folder: string): Promise<readonly Finding[]> {
  return config.store === 'embedded' ? inOwnProcess(folder) : here(config, folder);
}

function here(config: Config, folder: string): Promise<readonly Finding[]> {
  return withStore(config, folder, (store) => collect(store.verify(inspectRecord)));
}

async function inOwnProcess(folder: string): Promise<readonly Finding[]> {
  try {
    return await collect(findDamageInProcess(folder));
  } catch (error) {
    throw permissionFailure(error, folder) ?? storeFailure(error);
  }
}

export async function collect(found: AsyncIterable<Finding>): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of found) findings.push(finding);
  return findings;
}
