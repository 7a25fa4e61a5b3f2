import type { AuditFact } from '@tidemark/protocol';
import { AUDIT_CSV_HEAD, auditCsvRow, changesText, subjectText } from '@tidemark/protocol/admin/audit-csv';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { withExamples } from '../examples.ts';
import { readRows } from './listing.ts';
import { wholeNumber } from './sources.ts';

interface AuditOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly about?: string;
  readonly from?: string;
  readonly to?: string;
  readonly after?: string;
  readonly limit: number;
  readonly csv?: true;
  readonly jsonLines?: true;
}

const LIMIT_DEFAULT = 100;

export function addAudit(program: Command, cli: Cli): void {
  const command = program
    .command('audit')
    .description('Show the audit trail, newest first')
    .option('--actor <login>', 'only what this person did')
    .option('--action <action>', 'only this action; with a dot at the end all that begin so, as in user.')
    .option('--about <name>', 'only entries about the user, device, source, group or object of this name')
    .option('--from <moment>', 'only entries from this day or moment on, as in 2030-01-31 or 2030-01-31T12:00:00Z')
    .option('--to <moment>', 'only entries before this day or moment')
    .option('--limit <count>', 'the number of entries', wholeNumber, LIMIT_DEFAULT)
    .option('--after <id>', 'only entries older than this one')
    .option('--csv', 'print CSV')
    .option('--json-lines', 'print a line of JSON for each entry')
    .action(
      cli.remote(async ({ api, print }, { csv, jsonLines, ...wanted }: AuditOptions) => {
        const facts = await searchAudit(api, wanted);
        if (csv === true) print.text([AUDIT_CSV_HEAD, ...facts.map(auditCsvRow)].join(''));
        else if (jsonLines === true) print.text(facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''));
        else if (print.isJson) print.json(facts);
        else print.table(facts.map(rowOf), ['at', 'actor', 'action', 'about', 'result', 'changes', 'address', 'id']);
      }),
    );
  withExamples(
    command,
    'tidemark audit',
    'tidemark audit --actor admin --action user. --from 2030-01-31',
    'tidemark audit --about anna --limit 10000 --csv > audit.csv',
  );
}

function rowOf(fact: AuditFact): object {
  const { at, actor, action, result, address, id } = fact;
  const who = actor ?? (address === '' ? 'Tidemark' : null);
  return {
    at,
    actor: who,
    action,
    about: subjectText(fact) || null,
    result,
    changes: changesText(fact) || null,
    address,
    id,
  };
}

/** Reads page after page until there are as many entries as wanted, or no more. */
function searchAudit(
  api: Session['api'],
  { limit, after, ...filter }: Omit<AuditOptions, 'csv' | 'jsonLines'>,
): Promise<readonly AuditFact[]> {
  return readRows((page) => api.audit.search({ ...given(filter), ...page }), {
    rowsOf: ({ facts }) => facts,
    ...{ limit, after },
  });
}
