import type { Command } from 'commander';
import { path } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { withExamples } from '../examples.ts';
import { wholeNumber } from './sources.ts';

export function addReadState(program: Command, cli: Cli): void {
  const command = program
    .command('read-state')
    .description('Say when a source is due to be refreshed for a user')
    .argument('<source>')
    .argument('<login>')
    .option('--in <seconds>', 'so many seconds from now; at the next sync when left out', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, source: string, login: string, options: { readonly in?: number }) => {
        const body = { refresh_time: options.in };
        const at = path`/rc/v1/read_state/users/${login}/sources/${source}`;
        print.record(await api.send<{ readonly refresh_at: string }>('POST', at, body));
      }),
    );
  withExamples(command, 'tidemark read-state Order ada', 'tidemark read-state Order ada --in 3600');
}
