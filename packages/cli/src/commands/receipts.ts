import type { Receipt } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import type { Printer } from '../printer.ts';
import { wholeNumber } from './sources.ts';

interface ReceiptOptions {
  readonly user?: string;
  readonly group?: string;
  readonly seq?: number;
  readonly wait?: number;
}

interface ReceiptQuestion {
  readonly source: string;
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly seq?: number | undefined;
  readonly waitS?: number | undefined;
}

export function addReceipts(program: Command, cli: Cli): void {
  const command = program
    .command('receipts')
    .description('Show which devices have acknowledged a push')
    .argument('<source>')
    .option('--user <login>', 'only the devices of this user; needed unless the source is shared')
    .option('--group <group>', 'the group; needed if the data belongs to groups')
    .option('--seq <number>', 'the seq that the push answered with; the newest by default', wholeNumber)
    .option('--wait <seconds>', 'wait until active devices have it, at most 60', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, source: string, { user, group, seq, wait }: ReceiptOptions) => {
        printReceipt(print, await readReceipt(api, { source, user, group, seq, waitS: wait }));
      }),
    );
  withExamples(command, 'tidemark receipts Product', 'tidemark receipts Order --user ada --seq 1042 --wait 30');
}

function readReceipt(api: Session['api'], { source, ...question }: ReceiptQuestion): Promise<Receipt> {
  return api.sources.receipts(source, given(question));
}

function printReceipt(print: Printer, receipt: Receipt): void {
  const { behind_devices: devices, next: _next, ...summary } = receipt;
  print.record(print.isJson ? receipt : summary);
  if (!print.isJson) print.table(devices, ['client_id', 'user_id', 'acknowledged', 'missing', 'last_contact']);
}

/** Waits until the devices have a push, and fails if one that was seen in the last 24 hours is still behind. */
export async function waitForDevices(api: Session['api'], print: Printer, question: ReceiptQuestion): Promise<void> {
  const receipt = await readReceipt(api, question);
  printReceipt(print, receipt);
  if (receipt.active_delivered !== true)
    throw new CliFailure(`${receipt.behind} of ${receipt.devices} devices do not have it yet`);
}
