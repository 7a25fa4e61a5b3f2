import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { type PingResult, RESULT_COLUMNS, watchPing, wholePing } from '../watch-ping.ts';

interface PingOptions {
  readonly source?: readonly string[];
  readonly message?: string;
  readonly badge?: string;
  readonly sound?: string;
  readonly vibrate?: string;
  readonly watch?: boolean;
}

interface PingReport {
  readonly ping_id: string;
  readonly users: number;
  readonly devices: number;
  readonly skipped: readonly { readonly client_id: string; readonly reason: string }[];
  readonly unknown_users: readonly string[];
}

export function addPing(program: Command, cli: Cli): void {
  const command = program
    .command('ping')
    .description('Send a push message to all devices of the given users')
    .argument('<login...>')
    .option('--source <source...>', 'what the devices are to synchronise')
    .option('--message <text>', 'text for a popup')
    .option('--badge <value>', 'the badge of the app')
    .option('--sound <file>', 'a sound to play')
    .option('--vibrate <seconds>', 'how long to vibrate')
    .option('--watch', 'stay until every device has its result')
    .action(
      cli.remote(async ({ api, print }, logins: readonly string[], options: PingOptions) => {
        const report = await api.send<PingReport>('POST', '/rc/v1/users/ping', bodyOf(logins, options));
        if (options.watch !== true) {
          print.record(report);
          return;
        }
        const ping = await watchPing(cli, api, report.ping_id);
        const { results, ...counts } = await wholePing(api, report.ping_id);
        if (print.isJson) print.json({ ...report, ...counts, results });
        else {
          print.record({ ...report, ...counts });
          print.table(results.filter(isMissed), RESULT_COLUMNS);
        }
        const missed = ping.devices - ping.accepted - ping.sent;
        if (missed > 0) throw new CliFailure(`${missed} of ${ping.devices} devices were not reached`);
      }),
    );
  withExamples(
    command,
    'tidemark ping ada bob --source Order',
    'tidemark ping ada --message "New prices" --source Product Order --badge 3',
    'tidemark ping ada --source Order --watch',
  );
}

function bodyOf(logins: readonly string[], { source, message, badge, sound, vibrate }: PingOptions): object {
  return {
    user_id: logins,
    sources: source,
    message,
    badge: numberOrText(badge),
    sound,
    vibrate: numberOrText(vibrate),
  };
}

function isMissed({ status }: PingResult): boolean {
  return status !== 'accepted' && status !== 'sent';
}

/** Leaves the check of the value to the server. */
function numberOrText(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]{1,9}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : text;
}
