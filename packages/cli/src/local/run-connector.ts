import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHandler, TidemarkClient } from '@tidemark/backend';
import { nodeListener } from '@tidemark/backend/node';
import {
  Connector,
  type ConnectorEvents,
  type DatabaseAddress,
  type HealReason,
  type Mapping,
  Reporter,
  RowBackend,
  type RowBackendOptions,
  systemClock,
  type WriteHook,
} from '@tidemark/postgres';
import { errorMessage } from '@tidemark/protocol';
import type { Cli, Session } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** How the changes of devices come back. */
export interface ConnectorWriting {
  readonly listen: ListenAddress;
  /** The secret by which Tidemark signs its calls; null: it is asked for it. */
  readonly secret: string | null;
  readonly hooks: Readonly<Record<string, WriteHook>>;
}

export interface ConnectorRun {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  readonly address: DatabaseAddress;
  readonly mapping: Mapping;
  readonly mappingFile: string;
  readonly print: Session['print'];
  /** Null: devices can change nothing. */
  readonly writing: ConnectorWriting | null;
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
  const setUp = { client, name, address, mapping, mappingFile };
  const backend = run.writing === null ? null : await openBackend(run.writing, setUp, tell);
  if (backend === null && Object.values(mapping.tables).some(isWritten)) {
    tell('read_only', {}, 'Devices can change nothing: that needs --listen.');
  }
  const onPosition = (position: string) => backend?.rows.notePosition(position);
  const watched = { ...events, onPosition };
  const reporter = new Reporter({ client, name, address, slot: mapping.slot, runsIn: 'process', events: watched });
  const adapter = backend === null ? {} : { adapter: 'backend' };
  const connector = new Connector({ ...setUp, ...adapter, events: reporter.events });
  reporter.start();
  try {
    await Promise.all([connector.run(), run.stopped.then(() => connector.stop())]);
  } finally {
    await reporter.stop();
    await backend?.close();
  }
}

type Tell = (event: string, facts: Readonly<Record<string, unknown>>, line: string) => void;

function isWritten({ writable = [], devices = {} }: Mapping['tables'][string]): boolean {
  return writable.length > 0 || Object.values(devices).some((is) => is !== false);
}

/** Listens for the calls with which Tidemark passes on what devices change. */
async function openBackend(
  { listen: { host, port }, secret, hooks }: ConnectorWriting,
  setUp: Omit<RowBackendOptions, 'clock' | 'isAlone'>,
  tell: Tell,
) {
  const { client } = setUp;
  const known = secret ?? (await client.system.backendSecret()).secret;
  if (known === null) {
    const why = 'the secret by which Tidemark signs its calls is in the configuration of the server';
    throw usageFailure(why, 'set TIDEMARK_BACKEND_SECRET, or TIDEMARK_BACKEND_SECRET_FILE, to the same here');
  }
  const onError = (error: unknown) => {
    const reason = errorMessage(error);
    tell('upload_failed', { error: reason }, `a change of a device could not be made yet: ${reason}`);
  };
  const rows = new RowBackend({ ...setUp, hooks, isAlone: true, clock: systemClock, onError });
  // The table of operations remembers what was done, also after a restart.
  const operations = { recall: () => undefined, keep: () => undefined };
  const handler = createHandler({ secret: known, sources: rows.handlers(), operations, onError });
  const server = createServer(nodeListener(handler));
  server.listen(port, host);
  await once(server, 'listening').catch(async (error: unknown) => {
    await rows.close();
    throw usageFailure(`--listen: ${errorMessage(error)}`, 'choose another port');
  });
  const at = server.address() as AddressInfo;
  const url = `http://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`;
  tell('listening', { url }, `Tidemark reaches it at ${url}; set that once: tidemark appserver set ${url}`);
  return {
    rows,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await rows.close();
    },
  };
}
