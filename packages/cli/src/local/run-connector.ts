import { TidemarkClient } from '@tidemark/backend';
import {
  Connector,
  type ConnectorEvents,
  type DatabaseAddress,
  type HealReason,
  type Mapping,
} from '@tidemark/postgres';
import { errorMessage } from '@tidemark/protocol';
import type { Cli, Session } from '../cli.ts';

export interface ConnectorRun {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  readonly address: DatabaseAddress;
  readonly mapping: Mapping;
  readonly mappingFile: string;
  readonly print: Session['print'];
  /** The connector ends when it is resolved. */
  readonly stopped: Promise<unknown>;
}

const HEALED: Readonly<Record<HealReason, string>> = {
  slot_lost: 'the replication slot was lost',
  other_database: 'this is another database than before',
  other_timeline: 'another server has taken over the database',
  position_behind_slot: 'Tidemark has an older state than the replication slot',
  position_ahead_of_log: 'the database has an older state than Tidemark',
};

/** Keeps Tidemark equal to the tables of a database until it is told to end, and prints what happens. */
export async function runConnector(cli: Cli, run: ConnectorRun): Promise<void> {
  const { url, token, name, address, mapping, mappingFile, print } = run;
  const client = new TidemarkClient({ url, token });
  const tell = (event: string, facts: Readonly<Record<string, unknown>>, line: string) => {
    if (print.isJson) print.jsonText(JSON.stringify({ event, ...facts }));
    else cli.terminal.say(line);
  };
  const events: ConnectorEvents = {
    onState: (state, error) => {
      const why = error === undefined ? '' : `: ${errorMessage(error)}`;
      tell('state', { state, ...(error === undefined ? {} : { error: errorMessage(error) }) }, `${state}${why}`);
    },
    onHeal: (reason) => tell('heal', { reason }, `${HEALED[reason]}; all tables are compared`),
    onProgress: (progress) => {
      const { table, phase, rows, estimate, rowsPerS } = progress;
      const percent = estimate > 0 ? `, ${Math.min(100, Math.round((rows / estimate) * 100))} %` : '';
      tell('progress', { ...progress }, `${table}: ${phase}, ${rows} rows${percent}, ${rowsPerS} rows/s`);
    },
    onProblem: (problem) => {
      const { table, key, reason } = problem;
      tell('problem', { ...problem }, `${table}: the row "${key}" cannot be stored: ${reason}`);
    },
  };
  const connector = new Connector({ client, name, address, mapping, mappingFile, events });
  await Promise.all([connector.run(), run.stopped.then(() => connector.stop())]);
}
