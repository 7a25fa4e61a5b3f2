import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { withExamples } from '../examples.ts';
import { RESULT_COLUMNS, wholePing } from '../watch-ping.ts';
import { wholeNumber } from './sources.ts';

interface PageOptions {
  readonly limit?: number;
  readonly after?: string;
}

const COLUMNS = ['at', 'ping_id', 'actor', 'devices', 'pending', 'accepted', 'sent', 'retired', 'failed'];

export function addPings(program: Command, cli: Cli): void {
  const command = program
    .command('pings')
    .description('What became of pings: all of them, newest first, or one on each of its devices')
    .argument('[ping_id]')
    .option('--limit <count>', 'how many', wholeNumber)
    .option('--after <id>', 'only older ones than this')
    .action(
      cli.remote(async ({ api, print }, id: string | undefined, page: PageOptions) => {
        if (id === undefined) {
          print.table(await api.get<readonly object[]>('/rc/v1/pings', { ...page }), COLUMNS);
          return;
        }
        const { results, ...ping } = await wholePing(api, id);
        if (print.isJson) print.json({ ...ping, results });
        else {
          print.record(ping);
          print.table(results, RESULT_COLUMNS);
        }
      }),
    );
  withExamples(command, 'tidemark pings', 'tidemark pings 1a2b3c4d5e6f7g8h9i0j1k2l3m4n5o6 --json');
}
