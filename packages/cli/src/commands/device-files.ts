import { createReadStream } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { AnyFile, Device, FileReference, FileState } from '@tidemark/client';
import type { Command } from 'commander';
import { type Cli, timeoutMs } from '../cli.ts';
import { CliFailure, usageFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { mediaTypeOf } from '../media-type.ts';
import { writeDownload } from './backups.ts';
import { deviceCommand, folderOf } from './device-command.ts';

/** Adds attach and fetch, which put a file into an attribute and get it out of one. */
export function addDeviceFiles(group: Command, cli: Cli): void {
  addAttach(group, cli);
  addFetch(group, cli);
}

interface AttachOptions {
  readonly type?: string;
}

function addAttach(group: Command, cli: Cli): void {
  const command: Command = deviceCommand(group, 'attach', 'Put a file into an attribute of an object on the device')
    .argument('<source>')
    .argument('<id>')
    .argument('<attribute>', 'its value is replaced by the file')
    .argument('<file>')
    .option('--type <type>', 'the media type; by default that of the name')
    .action((source: string, id: string, attribute: string, file: string) =>
      folderOf(cli, command).use({ network: true }, async (device) => {
        const path = resolve(cli.folder, file);
        const { type = mediaTypeOf(file) } = command.opts<AttachOptions>();
        const name = basename(file);
        const objects = device.source(source);
        // Before the file is on the device, which would keep and send it.
        if (objects.get(id) === undefined)
          throw new CliFailure(`${source} has no object ${JSON.stringify(id)}`, { code: 'object_not_found' });
        const value = await device.files.add(readFrom(path, file), type === undefined ? { name } : { name, type });
        await objects.update(id, { [attribute]: value });
        await device.sync({ signal: AbortSignal.timeout(timeoutMs(command)) }).catch(() => undefined);
        const state = await settled(device, value, timeoutMs(command));
        if (state.status === 'failed') {
          const { code, detail } = state.error;
          throw new CliFailure(`the server does not take the file: ${detail}`, { code });
        }
        if (state.status !== 'uploaded')
          cli.terminal.say('Kept on the device; it is sent when the server can be reached.');
        cli.printer(command).record({ source, id, attribute, state: state.status, file: { ...value.$file } });
      }),
    );
  withExamples(
    command,
    'tidemark device attach Order order-7 photo roof.jpg',
    'tidemark device attach Order order-7 scan scan.bin --type image/tiff',
  );
}

async function* readFrom(path: string, file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk as Uint8Array;
  } catch (error) {
    throw usageFailure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

/** Waits until a file has arrived or failed, while there is a network. */
async function settled(device: Device, file: AnyFile, waitMs: number): Promise<FileState> {
  const { getSnapshot, subscribe } = device.files.state(file);
  const isDone = () => ['uploaded', 'failed'].includes(getSnapshot().status) || !device.status.getSnapshot().isOnline;
  const timeout = AbortSignal.timeout(waitMs);
  await new Promise<void>((done) => {
    const look = () => {
      if (!isDone() && !timeout.aborted) return;
      stop();
      done();
    };
    const stop = subscribe(look);
    timeout.addEventListener('abort', look);
    look();
  });
  return getSnapshot();
}

interface FetchOptions {
  readonly output?: string;
}

function addFetch(group: Command, cli: Cli): void {
  const command: Command = deviceCommand(group, 'fetch', 'Write a file that an object on the device refers to')
    .argument('<source>')
    .argument('<id>')
    .argument('<attribute>', 'the attribute that has the file; of several the first')
    .option('--output <file>', 'the file to write; it must not exist. By default the name of the file')
    .action((source: string, id: string, attribute: string) =>
      folderOf(cli, command).use({ network: true }, async (device) => {
        const file = await fileIn(device.source(source).get(id)?.attributes[attribute]);
        if (file === null) throw new CliFailure(`${source} ${id} has no file in ${attribute}`);
        const output = resolve(cli.folder, command.opts<FetchOptions>().output ?? defaultName(file));
        await writeDownload(output, device.files.pieces(file));
        cli.printer(command).record({ file: output, ...file });
      }),
    );
  withExamples(
    command,
    'tidemark device fetch Order order-7 photo',
    'tidemark device fetch Order order-7 photo --output roof.jpg',
  );
}

/** Programs read files whose name begins with a dot, and somebody else has chosen the name. */
function defaultName({ name, sha256 }: FileReference): string {
  return name === undefined || name.startsWith('.') ? sha256 : name;
}

async function fileIn(value: unknown): Promise<FileReference | null> {
  const { fileReferencesIn } = await import('@tidemark/protocol');
  const [first] = fileReferencesIn(value);
  return first ?? null;
}
