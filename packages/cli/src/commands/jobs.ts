import type { JobState } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { commandGroup, examples } from '../examples.ts';
import { confirm } from '../input.ts';
import { wholeNumber } from './sources.ts';

interface InspectOptions {
  readonly state?: JobState;
  readonly limit?: number;
  readonly after?: string;
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
    .description('List queues that have jobs or are paused, with their counts')
    .addHelpText('before', examples('tidemark jobs list', 'tidemark jobs list --json'))
    .action(
      cli.remote(async ({ api, print }, _options: object) => {
        const queues = await api.jobs.queues();
        if (print.isJson) return print.json(queues);
        const rows = queues.map(({ counts, ...queue }) => ({ ...queue, ...counts }));
        print.table(rows, ['queue', 'paused', 'due', 'delayed', 'waiting', 'leased', 'dead', 'lag_ms']);
      }),
    );
  jobs
    .command('inspect')
    .description('List jobs of a queue in one state, by default dead jobs')
    .addHelpText(
      'before',
      examples('tidemark jobs inspect uploads', 'tidemark jobs inspect uploads --state delayed --limit 1000'),
    )
    .argument('<queue>')
    .option('--state <state>', 'due, delayed, waiting, leased or dead')
    .option('--limit <count>', 'the number of jobs', wholeNumber)
    .option('--after <position>', 'the end of the previous page')
    .action(
      cli.remote(async ({ api, print }, queue: string, options: InspectOptions) => {
        const page = await api.jobs.inspect(queue, given(options));
        if (print.isJson) return print.json(page);
        print.table(page.jobs, COLUMNS);
        if (page.next !== null) cli.terminal.say(`There are more: --after ${page.next}`);
      }),
    );
  jobs
    .command('show')
    .description('Show a job')
    .addHelpText('before', examples('tidemark jobs show uploads 42'))
    .argument('<queue>')
    .argument('<id>')
    .action(
      cli.remote(async ({ api, print }, queue: string, id: string, _options: object) =>
        print.record(await api.jobs.get(queue, id)),
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
        print.record(await api.jobs.retry(queue, id)),
      ),
    );
  jobs
    .command('remove')
    .description('Delete a job that is not running')
    .addHelpText('before', examples('tidemark jobs remove uploads 42', 'tidemark jobs remove uploads 42 --yes'))
    .argument('<queue>')
    .argument('<id>')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print }, queue: string, id: string, { yes }: { readonly yes?: boolean }) => {
        const warning = `The job ${id} of ${queue} will be deleted and will not run.`;
        await confirm(cli, { warning, name: id, isConfirmed: yes === true });
        print.record(await api.jobs.remove(queue, id));
      }),
    );
}

function addHolding(jobs: Command, cli: Cli): void {
  for (const [verb, description] of [
    ['pause', 'Stop starting jobs of a queue until it is resumed'],
    ['resume', 'Start jobs of a paused queue again'],
  ] as const) {
    jobs
      .command(verb)
      .description(description)
      .addHelpText('before', examples(`tidemark jobs ${verb} uploads`))
      .argument('<queue>')
      .action(
        cli.remote(async ({ api, print }, queue: string, _options: object) =>
          print.record(await api.jobs[verb](queue)),
        ),
      );
  }
}
