import { readCatalogue } from '../catalogue/read-catalogue.ts';
import { fittingPlan } from '../mapping/build-plan.ts';
import type { Mapping } from '../mapping/mapping.ts';
import { ReplicationConnection } from '../replication/replication-connection.ts';
import { openSql } from '../sql/open-sql.ts';
import type { DatabaseAddress } from '../sql/parse-url.ts';
import { checkPublication } from './check-publication.ts';
import { checkReferences } from './check-references.ts';
import { checkServer, POOLER } from './check-server.ts';
import { checkTables, mappedTables } from './check-tables.ts';
import { checkWriting } from './check-writing.ts';
import type { Finding } from './finding.ts';

const ORDER = ['error', 'warning', 'notice'];

/** Finds everything that is missing at once, each with the SQL that mends it; what stops the connector comes first. */
export async function checkDatabase(
  address: DatabaseAddress,
  mapping: Mapping,
  file: string,
): Promise<readonly Finding[]> {
  const sql = openSql(address, { connections: 2, lookup: 'catalogue' });
  try {
    const inBetween = await findPooler(address);
    if (inBetween !== null) return [inBetween];
    const catalogue = await readCatalogue(sql);
    const { plan, problems } = fittingPlan(mapping, catalogue, file);
    const found = [
      ...(await checkServer(sql, address, mapping.slot)),
      ...problems.map((problem) => ({ code: 'mapping', level: 'error', ...problem }) as const),
      ...(await checkTables(sql, plan, catalogue)),
      ...checkReferences(plan, catalogue.types),
      ...(await checkWriting(sql, plan, mapping)),
      ...(await checkPublication(sql, mapping.publication, mappedTables(plan))),
    ];
    return distinct(found).sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
  } finally {
    await sql.end();
  }
}

/**
 * A pooler that does not pass replication ends the connection when it starts, because it does not know a parameter that the
 * server knows. Null: there is none, or the connection fails for another reason, which the other checks find.
 */
async function findPooler(address: DatabaseAddress): Promise<Finding | null> {
  const connection = ReplicationConnection.open(address);
  try {
    await connection.identify();
    return null;
  } catch (error) {
    return /unsupported startup parameter/.test(String(error)) ? POOLER : null;
  } finally {
    await connection.close();
  }
}

/** Of a table that is mapped to several things, what is found several times is said once. */
function distinct(found: readonly Finding[]): Finding[] {
  return [...new Map(found.map((finding) => [JSON.stringify(finding), finding])).values()];
}
