import type { ActivityEvent, ActivityHistoryPage, ActivityKind } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { CliFailure, EXIT } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { wholeNumber } from './sources.ts';

interface TailOptions {
  readonly user?: string;
  readonly client?: string;
  readonly source?: string;
  readonly kind?: readonly string[];
  readonly data?: boolean;
  readonly count?: number;
  readonly recent?: number;
  readonly past?: boolean;
  readonly failed?: boolean;
  readonly text?: string;
}

export function addTail(program: Command, cli: Cli): void {
  const command = program
    .command('tail')
    .description(
      'Show what happens on all servers, as it happens: pushes, pulls, uploads, refreshes, pings, logins, refusals',
    )
    .option('--user <login>', 'only what concerns this user')
    .option('--client <id>', 'only what concerns this device')
    .option('--source <source>', 'only what concerns this source')
    .option('--kind <kind...>', 'push, pull, upload, refresh, ping, login, refusal or backend')
    .option('--data', 'with the objects; needs a token with the scope admin')
    .option('--count <events>', 'end after so many', wholeNumber)
    .option('--recent <events>', 'begin with so many events of the last day, at most 200', wholeNumber, RECENT_DEFAULT)
    .option(
      '--past',
      'show what happened within the last day, newest first, and end; 100 events unless --count says more',
    )
    .option('--failed', 'with --past: only refusals and failures')
    .option('--text <text>', 'with --past: only events that contain this text, such as a code or an id')
    .action(
      cli.remote(async ({ api, print }, { past, failed, text, ...wanted }: TailOptions) => {
        if (past === true) {
          return showPast(cli, { api, print }, { ...wanted, ...given({ failed, text }) });
        }
        return showLive(cli, { api, print }, wanted);
      }),
    );
  withExamples(
    command,
    'tidemark tail',
    'tidemark tail --source Order --kind push pull',
    'tidemark tail --user anna --json',
    'tidemark tail --past --failed --user anna',
  );
}

/** Prints what happens, until the stream ends or `count` events are shown. */
async function showLive(
  cli: Cli,
  { api, print }: Pick<Session, 'api' | 'print'>,
  { count = Number.POSITIVE_INFINITY, kind, ...filter }: Omit<TailOptions, 'past' | 'failed' | 'text'>,
): Promise<void> {
  const kinds = kind as readonly ActivityKind[] | undefined;
  const onDropped = (dropped: number) => cli.terminal.say(`${dropped} events were left out`);
  let shown = 0;
  for await (const event of api.activity.watch({ ...given({ ...filter, kinds }), onDropped })) {
    if (print.isJson) print.jsonText(JSON.stringify(event));
    else print.names([lineOf(event)]);
    shown++;
    if (shown >= count) return;
  }
  throw new CliFailure('the server has closed the stream', {
    exitCode: EXIT.unavailable,
    hint: 'start it again',
  });
}

/** As many as a screen has room for. */
const RECENT_DEFAULT = 10;
/** Events of the history that one request asks for. */
export const PAGE_EVENTS = 1_000;
const PAST_COUNT_DEFAULT = 100;

type PastOptions = Pick<TailOptions, 'user' | 'client' | 'source' | 'kind' | 'count' | 'failed' | 'text'>;

/** Prints what happened, page by page. */
async function showPast(
  cli: Cli,
  { api, print }: Pick<Session, 'api' | 'print'>,
  { user, client, source, kind, failed, text, count = PAST_COUNT_DEFAULT }: PastOptions,
): Promise<void> {
  const kinds = kind as readonly ActivityKind[] | undefined;
  const filter = given({ user, client, source, kinds, failed, text });
  let after: string | null = null;
  let page: ActivityHistoryPage;
  let shown = 0;
  let leftOut = 0;
  do {
    const limit = Math.min(PAGE_EVENTS, count - shown);
    page = await api.activity.history({ ...filter, limit, ...(after === null ? {} : { after }) });
    for (const event of page.events) {
      if (print.isJson) print.jsonText(JSON.stringify(event));
      else print.names([`${event.at.slice(0, 10)} ${lineOf(event)}`]);
    }
    shown += page.events.length;
    leftOut += page.left_out;
    after = page.next;
  } while (after !== null && shown < count);
  cli.terminal.say(`kept since ${page.complete_from}${leftOut > 0 ? `; ${leftOut} failures were left out` : ''}`);
}

/** One line for people: time, kind, what and whom it concerns, and the request id. */
function lineOf(event: ActivityEvent): string {
  const { at, kind, source, user_id, client_id, request_id, data } = event;
  const whom = [source, user_id === null ? null : `user ${user_id}`, client_id === null ? null : `device ${client_id}`];
  const parts = [
    at.slice(11, 23),
    kind.padEnd(7),
    [...whom, detailOf(event)].filter((part) => part !== null).join('  '),
    ...(data === undefined ? [] : [JSON.stringify(data)]),
    ...(request_id === null ? [] : [`(${request_id})`]),
  ];
  return parts.join('  ');
}

function detailOf(event: ActivityEvent): string {
  switch (event.kind) {
    case 'push':
      return `${event.operation}: ${event.changed} changed, ${event.unchanged} unchanged, seq ${event.seq}`;
    case 'pull': {
      const reset = event.reset === null ? '' : `, starts over (${event.reset})`;
      return `${event.objects} objects, ${event.bytes} bytes${event.more ? ', more to come' : ''}${reset}`;
    }
    case 'upload':
      return `${event.op} ${event.object_id}: ${event.status}${event.code === null ? '' : ` (${event.code})`}`;
    case 'refresh':
      return `${event.code ?? 'refreshed'} after ${event.duration_ms} ms`;
    case 'ping':
      return `${event.ping_id} ${event.status ?? `to ${event.devices} devices`}`;
    case 'login':
      return `${event.as}: ${event.code ?? 'logged in'}`;
    case 'refusal':
      return `${event.method} ${event.route ?? 'unknown path'}: ${event.status} ${event.code}`;
    case 'backend':
      return `${event.call}: ${event.reason} (${event.code}) after ${event.duration_ms} ms`;
  }
}
