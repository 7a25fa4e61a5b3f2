import { type ConnectorCheck, errorMessage } from '@tidemark/protocol';
import type { ConnectorConfig } from '../config/read-connectors.ts';

/** Asks the database of a connector what it lacks. A database that cannot be asked is a finding, too. */
export async function checkConnector({
  name,
  address,
  mapping,
  mappingFile,
}: ConnectorConfig): Promise<ConnectorCheck> {
  const { checkDatabase } = await import('@tidemark/postgres');
  try {
    const found = await checkDatabase(address, mapping, mappingFile);
    return { name, findings: found.map((finding) => ({ ...finding, sql: [...finding.sql] })) };
  } catch (error) {
    const message = `the database cannot be read: ${errorMessage(error)}`;
    return { name, findings: [{ code: 'unreachable', level: 'error', message, sql: [] }] };
  }
}
