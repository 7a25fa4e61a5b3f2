import type { ConnectorCheck } from '@tidemark/protocol';
import { checkConnector } from '@tidemark/server/connectors/check-connector';
import type { Check } from './checks.ts';

const STATUS = { error: 'failed', warning: 'warning', notice: 'ok' } as const;

/** Asks the database of each configured connector what it lacks. */
export async function checkConnectors(
  connectors: readonly Parameters<typeof checkConnector>[0][],
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const connector of connectors) checks.push(...checksOf(await checkConnector(connector)));
  return checks;
}

function checksOf({ name: connector, findings }: ConnectorCheck): readonly Check[] {
  const name = `connector ${connector}`;
  if (findings.length === 0) return [{ name, status: 'ok', detail: 'the database can be connected' }];
  return findings.map(({ level, message, sql }) => {
    const way = sql.length === 0 ? '' : `; run ${sql.join('; ')}`;
    return { name, status: STATUS[level], detail: message + way };
  });
}
