import type { Command } from 'commander';
import { path } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { confirm } from '../confirm.ts';
import { commandGroup, examples } from '../examples.ts';
import { wholeNumber } from './sources.ts';

interface InspectOptions {
  readonly state?: string;
  readonly limit?: number;
  readonly after?: string;
}

interface QueueRow {
  readonly queue: string;
  readonly paused: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly lag_ms: number;
}

interface JobPage {
  readonly jobs: readonly object[];
  readonly next: string | null;
}

const COLUMNS = ['id', 'kind', 'state', 'attempt', 'attempts_max', 'due_at', 'last_reason'];

export function addJobs(program: Command, cli: Cli): void {
  const jobs = commandGroup(
    program,
    'jobs',
    'Work that waits in queues, and what became of it',
    'tidemark jobs list',
    'tidemark jobs inspect uploads --state dead',
    'tidemark jobs retry uploads 42',
  );
  addLooking(jobs, cli);
  addDoing(jobs, cli);
  addHolding(jobs, cli);
}

function addLooking(jobs: Command, cli: Cli): void {
  jobs
    .command('list')
    .description('Queues that have jobs or are paused, and how they stand')
    .addHelpText('before', examples('tidemark jobs list', 'tidemark jobs list --json'))
    .action(
      cli.remote(async ({ api, print }, _options: object) => {
        const queues = await api.get<readonly QueueRow[]>('/rc/v1/jobs');
        if (print.isJson) return print.json(queues);
        const rows = queues.map(({ counts, ...queue }) => ({ ...queue, ...counts }));
        print.table(rows, ['queue', 'paused', 'due', 'delayed', 'waiting', 'leased', 'dead', 'lag_ms']);
      }),
    );
  jobs
    .command('inspect')
    .description('Jobs of a queue in a state, dead ones unless said otherwise')
    .addHelpText(
      'before',
      examples('tidemark jobs inspect uploads', 'tidemark jobs inspect uploads --state delayed --limit 1000'),
    )
    .argument('<queue>')
    .option('--state <state>', 'due, delayed, waiting, leased or dead')
    .option('--limit <count>', 'how many', wholeNumber)
    .option('--after <place>', 'go on where the page before has ended')
    .action(
      cli.remote(async ({ api, print }, queue: string, { state, limit, after }: InspectOptions) => {
        const page = await api.get<JobPage>(path`/rc/v1/jobs/${queue}/jobs`, { state, limit, after });
        if (print.isJson) return print.json(page);
        print.table(page.jobs, COLUMNS);
        if (page.next !== null) cli.terminal.say(`There are more: --after ${page.next}`);
      }),
    );
  jobs
    .command('show')
    .description('One job')
    .addHelpText('before', examples('tidemark jobs show uploads 42'))
    .argument('<queue>')
    .argument('<id>')
    .action(
      cli.remote(async ({ api, print }, queue: string, id: string, _options: object) =>
        print.record(await api.get<object>(path`/rc/v1/jobs/${queue}/jobs/${id}`)),
      ),
    );
}

function addDoing(jobs: Command, cli: Cli): void {
  jobs
    .command('retry')
    .description('Make a dead job due again, with all its attempts')
    .addHelpText('before', examples('tidemark jobs retry uploads 42'))
    .argument('<queue>')
    .argument('<id>')
    .action(
      cli.remote(async ({ api, print }, queue: string, id: string, _options: object) =>
        print.record(await api.send<object>('POST', path`/rc/v1/jobs/${queue}/jobs/${id}/retry`, {})),
      ),
    );
  jobs
    .command('remove')
    .description('Forget a job that nobody runs at this moment')
    .addHelpText('before', examples('tidemark jobs remove uploads 42', 'tidemark jobs remove uploads 42 --yes'))
    .argument('<queue>')
    .argument('<id>')
    .option('--yes', 'do not ask')
    .action(
      cli.remote(async ({ api, print }, queue: string, id: string, { yes }: { readonly yes?: boolean }) => {
        const warning = `What the job ${id} of ${queue} was to do will not be done.`;
        await confirm(cli, { warning, word: id, isConfirmed: yes === true });
        print.record(await api.delete<object>(path`/rc/v1/jobs/${queue}/jobs/${id}`));
      }),
    );
}

function addHolding(jobs: Command, cli: Cli): void {
  for (const [verb, description] of [
    ['pause', 'Begin no more jobs of a queue until it is resumed'],
    ['resume', 'Go on with the jobs of a queue'],
  ] as const) {
    jobs
      .command(verb)
      .description(description)
      .addHelpText('before', examples(`tidemark jobs ${verb} uploads`))
      .argument('<queue>')
      .action(
        cli.remote(async ({ api, print }, queue: string, _options: object) =>
          print.record(await api.send<object>('POST', path`/rc/v1/jobs/${queue}/${verb}`, {})),
        ),
      );
  }
}
