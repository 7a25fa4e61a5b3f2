import type { ActivityEvent, ActivityKind } from '@tidemark/protocol';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
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
    .option('--kind <kind...>', 'push, pull, upload, refresh, ping, login or refusal')
    .option('--data', 'with the objects; needs a token with the scope admin')
    .option('--count <events>', 'end after so many', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, { count = Number.POSITIVE_INFINITY, kind, ...filter }: TailOptions) => {
        const kinds = kind as readonly ActivityKind[] | undefined;
        const onDropped = (dropped: number) => cli.terminal.say(`${dropped} events were left out`);
        let shown = 0;
        for await (const event of api.activity({ ...filter, ...(kinds === undefined ? {} : { kinds }), onDropped })) {
          if (print.isJson) print.jsonText(JSON.stringify(event));
          else print.names([lineOf(event)]);
          shown++;
          if (shown >= count) return;
        }
        throw new CliFailure('the server has closed the stream', {
          exitCode: EXIT.unavailable,
          hint: 'start it again',
        });
      }),
    );
  withExamples(
    command,
    'tidemark tail',
    'tidemark tail --source Order --kind push pull',
    'tidemark tail --user anna --json',
  );
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
  }
}
