import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { withExamples } from '../examples.ts';

interface PingOptions {
  readonly source?: readonly string[];
  readonly message?: string;
  readonly badge?: string;
  readonly sound?: string;
  readonly vibrate?: string;
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
    .action(
      cli.remote(async ({ api, print }, logins: readonly string[], options: PingOptions) => {
        const { source, message, badge, sound, vibrate } = options;
        const body = {
          user_id: logins,
          sources: source,
          message,
          badge: numberOrText(badge),
          sound,
          vibrate: numberOrText(vibrate),
        };
        print.record(await api.send<PingReport>('POST', '/rc/v1/users/ping', body));
      }),
    );
  withExamples(
    command,
    'tidemark ping ada bob --source Order',
    'tidemark ping ada --message "New prices" --source Product Order --badge 3',
  );
}

/** Whether it is allowed is for the server to say. */
function numberOrText(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]{1,9}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : text;
}
