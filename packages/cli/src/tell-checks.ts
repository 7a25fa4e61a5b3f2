import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { CliFailure } from './cli-failure.ts';
import type { Check } from './local/checks.ts';

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

/** Shows what was looked at, and ends the command with 1 when something failed. */
export function tellChecks(cli: Cli, command: Command, checks: readonly Check[]): void {
  const print = cli.printer(command);
  const hasColour = cli.terminal.hasColour && cli.terminal.isRead;
  if (print.isJson) print.json(checks);
  else for (const check of checks) cli.terminal.out(`${lineOf(check, hasColour)}\n`);
  const failed = checks.filter(({ status }) => status === 'failed');
  if (failed.length > 0) throw new CliFailure(`${failed.length} of ${checks.length} checks failed`);
}

function lineOf({ name, status, detail }: Check, hasColour: boolean): string {
  const mark = status.padEnd('warning'.length);
  return `${hasColour ? styleText(COLOURS[status], mark) : mark}  ${name}: ${detail}`;
}
