import { setTimeout as sleep } from 'node:timers/promises';
import { TidemarkClient } from '@tidemark/backend';
import { Connector, type ConnectorEvents, parseDatabaseUrl } from '@tidemark/postgres';
import { runAsWorker, writeLine } from '../processes/worker.ts';
import type { ConnectorLine, ConnectorTerms } from './connector-line.ts';
import { plantIn } from './plant-connector.ts';

// Runs one connector until it is told to end or killed.

const LIFE_MS = 900_000;
/** Each costs a call; more often, a busy machine does nothing else. */
const HEARTBEAT_MS = 1_000;
/** A connector waits longer; here nobody has the time. */
const PAUSE_MS = 50;

const say = (line: ConnectorLine) => writeLine(line);

const EVENTS: ConnectorEvents = {
  onPosition: (position) => say({ say: 'position', position }),
  onLag: () => say({ say: 'beat' }),
  onHeal: (reason) => say({ say: 'healed', reason }),
  onProblem: ({ table, key, reason }) => say({ say: 'problem', table, key, reason }),
};

await runAsWorker<ConnectorTerms>(LIFE_MS, async (terms) => {
  const { url, token, name, databaseUrl, mapping, batchRowsMax, plant } = terms;
  // A call that fails ends the run, as the last of several attempts does.
  const client = new TidemarkClient({ url, token, retry: { attemptsMax: 1 } });
  if (plant !== null) await plantIn(client, plant);
  const connector = new Connector({
    ...{ client, name, mapping, mappingFile: 'mapping.jsonc', batchRowsMax, heartbeatMs: HEARTBEAT_MS },
    address: parseDatabaseUrl(databaseUrl),
    events: EVENTS,
  });
  let isStopped = false;
  process.once('SIGTERM', () => {
    isStopped = true;
    void connector.stop();
  });
  while (!isStopped) {
    try {
      await connector.runOnce();
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      say({ say: 'interrupted', reason, code: typeof code === 'string' ? code : null });
      await sleep(PAUSE_MS);
    }
  }
  process.exit(0);
});
