import { setTimeout as sleep } from 'node:timers/promises';
import type { Ping } from '@tidemark/backend';
import type { PingWithResults } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { wholeNumber } from './sources.ts';

interface PingOptions {
  readonly source?: readonly string[];
  readonly message?: string;
  readonly badge?: string;
  readonly sound?: string;
  readonly vibrate?: string;
  readonly onlyBehind?: boolean;
  readonly watch?: boolean;
}

export function addPing(program: Command, cli: Cli): void {
  const command = program
    .command('ping')
    .description('Send a push message to all devices of the given users')
    .argument('<login...>')
    .option('--source <source...>', 'the sources that the devices shall synchronise')
    .option('--message <text>', 'the text of the notification')
    .option('--badge <value>', 'the badge of the app')
    .option('--sound <file>', 'a sound to play')
    .option('--vibrate <seconds>', 'how long to vibrate')
    .option('--only-behind', 'skip devices that have acknowledged the newest state of the sources')
    .option('--watch', 'wait until every device has a result')
    .action(
      cli.remote(async ({ api, print }, logins: readonly string[], options: PingOptions) => {
        const report = await api.users.ping(pingOf(logins, options));
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

function pingOf(logins: readonly string[], options: PingOptions): Ping {
  const { source, message, badge, sound, vibrate, onlyBehind } = options;
  const content = { sources: source, message, badge: numberOrText(badge), sound, vibrate: numberOrText(vibrate) };
  return { user_id: logins, ...(given({ ...content, only_behind: onlyBehind }) as Omit<Ping, 'user_id'>) };
}

function isMissed({ status }: PingResult): boolean {
  return status !== 'accepted' && status !== 'sent';
}

/** Leaves the check of the value to the server. */
function numberOrText(text: string | undefined): number | string | undefined {
  return text !== undefined && /^[0-9]{1,9}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : text;
}

type PingResult = PingWithResults['results'][number];

const RESULT_COLUMNS = ['client_id', 'service', 'status', 'attempts', 'repeated', 'reason'];
const LOOK_EVERY_MS = 500;
/** Longer than the server tries to deliver a ping. */
const WATCH_MS_MAX = 7_200_000;
const PAGE_RESULTS = 1_000;

/** Polls until no device is pending. Progress goes to the standard error output, one line per change. */
async function watchPing(cli: Cli, api: Session['api'], id: string): Promise<PingWithResults> {
  let last = '';
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const ping = await api.pings.get(id, { limit: 1 });
    const line = `${ping.devices - ping.pending} of ${ping.devices} devices done, ${ping.failed} failed, ${ping.retired} retired`;
    if (line !== last) cli.terminal.say(line);
    last = line;
    if (ping.pending === 0 || waitedMs >= WATCH_MS_MAX) return ping;
    await sleep(LOOK_EVERY_MS);
  }
}

/** Reads the ping with all pages of its results. */
async function wholePing(api: Session['api'], id: string): Promise<PingWithResults> {
  const results: PingResult[] = [];
  for (;;) {
    const after = results.at(-1)?.client_id;
    const ping = await api.pings.get(id, { limit: PAGE_RESULTS, ...given({ after }) });
    results.push(...ping.results);
    if (ping.results.length < PAGE_RESULTS) return { ...ping, results };
  }
}

interface PageOptions {
  readonly limit?: number;
  readonly after?: string;
}

const COLUMNS = ['at', 'ping_id', 'actor', 'devices', 'pending', 'accepted', 'sent', 'retired', 'failed'];

export function addPings(program: Command, cli: Cli): void {
  const command = program
    .command('pings')
    .description('List all pings, newest first, or show the result of one ping on each device')
    .argument('[ping_id]')
    .option('--limit <count>', 'the number of pings', wholeNumber)
    .option('--after <id>', 'only pings older than this one')
    .action(
      cli.remote(async ({ api, print }, id: string | undefined, page: PageOptions) => {
        if (id === undefined) {
          print.table(await api.pings.list(given(page)), COLUMNS);
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
