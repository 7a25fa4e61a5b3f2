import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { CliFailure } from './cli-failure.ts';
import type { Check } from './local/checks.ts';

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

/** Prints the checks, and fails the command with exit code 1 if one of them failed. */
export function printChecks(cli: Cli, command: Command, checks: readonly Check[]): void {
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
