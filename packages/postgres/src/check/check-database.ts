import type { Catalogue } from '../catalogue/catalogue.ts';
import { readCatalogue } from '../catalogue/read-catalogue.ts';
import { buildPlan } from '../mapping/build-plan.ts';
import type { Mapping } from '../mapping/mapping.ts';
import { MappingError } from '../mapping/mapping-problems.ts';
import type { Plan } from '../mapping/plan.ts';
import { openSql } from '../sql/open-sql.ts';
import type { DatabaseAddress } from '../sql/parse-url.ts';
import { checkPublication } from './check-publication.ts';
import { checkServer } from './check-server.ts';
import { checkTables } from './check-tables.ts';
import type { Finding } from './finding.ts';

const ORDER = ['error', 'warning', 'notice'];

/** Finds everything that is missing at once, each with the SQL that mends it; what stops the connector comes first. */
export async function checkDatabase(
  address: DatabaseAddress,
  mapping: Mapping,
  file: string,
): Promise<readonly Finding[]> {
  const sql = openSql(address, { connections: 2 });
  try {
    const catalogue = await readCatalogue(sql);
    const { plan, problems } = planOf(mapping, catalogue, file);
    const found = [
      ...(await checkServer(sql, address, mapping.slot)),
      ...problems,
      ...(plan === null ? [] : await checkTables(sql, plan, catalogue)),
      ...(plan === null ? [] : await checkPublication(sql, mapping.publication, plan, catalogue)),
    ];
    return found.sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
  } finally {
    await sql.end();
  }
}

function planOf(
  mapping: Mapping,
  catalogue: Catalogue,
  file: string,
): { readonly plan: Plan | null; readonly problems: readonly Finding[] } {
  try {
    return { plan: buildPlan(mapping, catalogue, file), problems: [] };
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    const problems = error.problems.map((message): Finding => ({ code: 'mapping', level: 'error', message, sql: [] }));
    return { plan: null, problems };
  }
}
