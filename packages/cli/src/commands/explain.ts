import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { withExamples } from '../examples.ts';

interface ExplainOptions {
  readonly client: string;
  readonly source: string;
  readonly object: string;
  readonly group?: string;
}

export function addExplain(program: Command, cli: Cli): void {
  const command = program
    .command('explain')
    .description('Say why a device holds an object, or does not')
    .requiredOption('--client <id>', 'the device')
    .requiredOption('--source <source>', 'the source of the object')
    .requiredOption('--object <id>', 'the object')
    .option('--group <group>', 'the group, if the data belongs to groups; without it all groups of the user are tried')
    .action(
      cli.remote(async ({ api, print }, { client, source, object, group }: ExplainOptions) => {
        const { evidence, ...explanation } = await api.clients.explain(client, source, object, given({ group }));
        print.record(print.isJson ? { ...explanation, evidence } : { ...explanation, ...evidence });
      }),
    );
  withExamples(command, 'tidemark explain --client 5f1c0e --source Product --object 17');
}
