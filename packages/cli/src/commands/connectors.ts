import type { Connector } from '@tidemark/protocol';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { commandGroup, examples } from '../examples.ts';

const COLUMNS = ['name', 'state', 'lag_s', 'rows_per_s', 'tables', 'refused', 'reported_at', 'faults'];
const TABLE_COLUMNS = ['table', 'source', 'phase', 'rows', 'estimate', 'percent', 'rows_per_s'];

export function addConnectors(program: Command, cli: Cli): void {
  const connectors = commandGroup(
    program,
    'connectors',
    'Databases that are connected, and how far behind they are',
    'tidemark connectors list',
    'tidemark connectors show field',
    'tidemark connectors check field',
  );
  addLooking(connectors, cli);
  addDoing(connectors, cli);
}

function addLooking(connectors: Command, cli: Cli): void {
  connectors
    .command('list')
    .description('List connectors with their lag and what is wrong with them')
    .addHelpText('before', examples('tidemark connectors list', 'tidemark connectors list --json'))
    .action(
      cli.remote(async ({ api, print }, _options: object) => {
        const all = await api.connectors.list();
        if (print.isJson) return print.json(all);
        print.table(all.map(rowOf), COLUMNS);
      }),
    );
  connectors
    .command('show')
    .description('Show a connector: its position, its slot, the progress of its tables, and rows that cannot be stored')
    .addHelpText('before', examples('tidemark connectors show field', 'tidemark connectors show field --json'))
    .argument('<connector>')
    .action(
      cli.remote(async ({ api, print }, name: string, _options: object) => {
        const connector = await api.connectors.get(name);
        if (print.isJson) return print.json(connector);
        const { tables, problems, waiting, slot, error, healed, faults, ...rest } = connector;
        print.record({ ...rest, ...slotMembers(slot), error: error?.message ?? null, healed: healed?.reason ?? null });
        for (const { code, message } of faults) cli.terminal.say(`${code}: ${message}`);
        print.table(tables, TABLE_COLUMNS);
        print.table(problems.samples, ['table', 'key', 'reason']);
        print.table(waiting.samples, ['kind', 'table', 'name']);
      }),
    );
}

function addDoing(connectors: Command, cli: Cli): void {
  connectors
    .command('check')
    .description('Find everything that the database of a connector lacks, with the SQL that mends it')
    .addHelpText('before', examples('tidemark connectors check field', 'tidemark connectors check field --json'))
    .argument('<connector>')
    .action(
      cli.remote(async ({ api, print }, name: string, _options: object) => {
        const { findings } = await api.connectors.check(name);
        if (print.isJson) print.json(findings);
        else
          print.table(
            findings.map(({ sql, ...finding }) => ({ ...finding, sql: sql.join('; ') })),
            FINDING_COLUMNS,
          );
        const errors = findings.filter(({ level }) => level === 'error').length;
        if (errors > 0) throw new CliFailure(`the database of ${name} lacks ${errors} things`);
      }),
    );
  connectors
    .command('remove')
    .description('Forget a connector that is gone; its sources, objects and slot stay')
    .addHelpText('before', examples('tidemark connectors remove field'))
    .argument('<connector>')
    .action(
      cli.remote(async ({ api, print }, name: string, _options: object) =>
        print.record(await api.connectors.delete(name)),
      ),
    );
}

const FINDING_COLUMNS = ['level', 'code', 'message', 'sql'];

function rowOf({ lag_ms, tables, problems, faults, ...rest }: Connector): object {
  const ready = tables.filter(({ phase }) => phase === 'ready').length;
  return {
    ...rest,
    lag_s: Math.round(lag_ms / 1_000),
    tables: `${ready} of ${tables.length} ready`,
    refused: problems.count,
    faults: faults.map(({ code }) => code).join(', '),
  };
}

function slotMembers(slot: Connector['slot']): object {
  if (slot === null) return { slot: null };
  return Object.fromEntries(Object.entries(slot).map(([member, value]) => [`slot_${member}`, value]));
}
