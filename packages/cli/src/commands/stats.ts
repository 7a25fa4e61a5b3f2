import type { StatStep } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { commandGroup, examples } from '../examples.ts';
import { wholeNumber } from './sources.ts';

interface ReadOptions {
  readonly start?: number;
  readonly finish?: number;
}

export function addStats(program: Command, cli: Cli): void {
  const stats = commandGroup(
    program,
    'stats',
    'What the server has measured',
    "tidemark stats names 'sources:*:Product'",
    'tidemark stats read sources:push_objects:Product --start -60',
  );
  stats
    .command('names')
    .description('List the keys of metrics')
    .addHelpText('before', examples('tidemark stats names', "tidemark stats names 'sources:*:Product'"))
    .argument('[pattern]', '* matches any text', '*')
    .action(
      cli.remote(async ({ api, print }, pattern: string, _options: object) =>
        print.names(await api.system.metricNames(pattern)),
      ),
    );
  stats
    .command('read')
    .description('Show the values of a metric per minute, oldest first')
    .addHelpText('before', examples('tidemark stats read sources:push_objects:Product --start -60'))
    .argument('<metric>')
    .option('--start <index>', 'the first minute; a negative number counts from the end', wholeNumber)
    .option('--finish <index>', 'the last minute', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, metric: string, range: ReadOptions) => {
        const steps = await api.system.metric(metric, given({ start: range.start, finish: range.finish }));
        print.table(print.isJson ? steps : steps.map(readable), ['at', 'count', 'sum', 'min', 'max']);
      }),
    );
}

function readable(step: StatStep): object {
  return { ...step, at: new Date(step.at * 1_000).toISOString() };
}
