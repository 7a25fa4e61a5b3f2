import { resolve } from 'node:path';
import type { Device } from '@tidemark/client';
import type { Command } from 'commander';
import { type Cli, timeoutMs } from '../cli.ts';
import { DeviceFolder } from '../device-folder.ts';

const FOLDER = 'tidemark-device';

interface FolderOptions {
  readonly folder: string;
}

/** Adds a command of the group with the option that all of them share. */
export function deviceCommand(group: Command, name: string, description: string): Command {
  return group
    .command(name)
    .description(description)
    .option('--folder <folder>', 'where the device stores its data; one folder per device', FOLDER);
}

export function folderOf(cli: Cli, command: Command): DeviceFolder {
  return new DeviceFolder(resolve(cli.folder, command.opts<FolderOptions>().folder));
}

export async function catchUp(device: Device, self: Command): Promise<void> {
  await device.sync({ signal: AbortSignal.timeout(timeoutMs(self)) });
}
