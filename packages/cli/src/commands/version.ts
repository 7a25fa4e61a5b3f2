import { readVersion } from '@tidemark/server/version';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { withExamples } from '../examples.ts';

export function addVersion(program: Command, cli: Cli): void {
  const command = program
    .command('version')
    .description('Show the version of this program')
    .action(async (_options: object, self: Command) => {
      const print = cli.printer(self);
      if (print.isJson) print.json({ name: 'tidemark', version: readVersion(), node: process.versions.node });
      else cli.terminal.out(`${readVersion()}\n`);
    });
  withExamples(command, 'tidemark version', 'tidemark version --json');
}

/** Benchmarks are not part of the published packages. */
export function addBench(program: Command, cli: Cli): void {
  const command = program
    .command('bench')
    .description('Show how to run the benchmarks')
    .action(async () => {
      cli.terminal.say('The benchmarks are part of the repository of Tidemark. In a checkout, run:');
      cli.terminal.out('npm run bench\n');
    });
  withExamples(command, 'tidemark bench');
}
