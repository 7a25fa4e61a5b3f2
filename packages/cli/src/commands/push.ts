import type { PushOperation } from '@tidemark/backend';
import { parseJson } from '@tidemark/protocol';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';
import { commandGroup, withExamples } from '../examples.ts';
import { readJsonText } from '../input.ts';
import { waitForDevices } from './receipts.ts';
import { wholeNumber } from './sources.ts';

interface PushOptions {
  readonly user?: string;
  readonly group?: string;
  /** False after `--no-rebuild-md`. */
  readonly rebuildMd?: boolean;
  readonly waitForDevices?: number;
}

interface PushKind {
  readonly name: string;
  readonly operation: PushOperation;
  readonly description: string;
  /** Describes the file's content in the help. */
  readonly content: string;
  readonly canRebuild: boolean;
  /** Returns the members of the body that come from the file, as JSON text. */
  readonly members: (json: string) => string;
  readonly example: string;
}

const OBJECTS = 'a hash of hashes: {"<id>": {"<attribute>": <value>}}';

const KINDS: readonly PushKind[] = [
  {
    name: 'objects',
    operation: 'push_objects',
    description: 'Add objects, or update existing ones',
    content: OBJECTS,
    canRebuild: true,
    members: (json) => `"objects":${json}`,
    example: `echo '{"1":{"name":"Compass"}}' | tidemark push objects Order --user ada`,
  },
  {
    name: 'deletes',
    operation: 'push_deletes',
    description: 'Delete objects',
    content: 'a list of object ids: ["<id>"]',
    canRebuild: true,
    members: (json) => `"objects":${json}`,
    example: `echo '["1"]' | tidemark push deletes Order --user ada`,
  },
  {
    name: 'fast-insert',
    operation: 'fast_insert',
    description: 'Insert or replace objects without reading the old ones',
    content: OBJECTS,
    canRebuild: false,
    members: (json) => `"objects":${json}`,
    example: 'tidemark push fast-insert Product new.json',
  },
  {
    name: 'fast-update',
    operation: 'fast_update',
    description: 'Remove given attribute values and set new ones',
    content: '{"delete_data": <hash of hashes>, "data": <hash of hashes>}',
    canRebuild: false,
    members: updateMembers,
    example: 'tidemark push fast-update Product change.json',
  },
  {
    name: 'fast-delete',
    operation: 'fast_delete',
    description: 'Remove given attribute values',
    content: OBJECTS,
    canRebuild: false,
    members: (json) => `"data":${json}`,
    example: 'tidemark push fast-delete Product gone.json',
  },
];

export function addPush(program: Command, cli: Cli): void {
  const push = commandGroup(
    program,
    'push',
    'Push changes into a source, as a backend does',
    'tidemark push objects Product products.json',
    ...KINDS.slice(0, 2).map(({ example }) => example),
  );
  for (const kind of KINDS) addKind(push, cli, kind);
}

function addKind(push: Command, cli: Cli, kind: PushKind): void {
  const command = push
    .command(kind.name)
    .description(kind.description)
    .argument('<source>')
    .argument('[file]', `${kind.content}; the standard input when left out or -`)
    .option('--user <login>', 'the owner of the data; only for a source of partition type user')
    .option('--group <group>', 'the group of the data; only for a source of partition type group');
  command.option(
    '--wait-for-devices <seconds>',
    'wait until active devices have it, at most 60; fail if some do not',
    wholeNumber,
  );
  if (kind.canRebuild) command.option('--no-rebuild-md', 'send rebuild_md: false; the result is the same');
  command.action(
    cli.remote(async ({ api, print }, source: string, file: string | undefined, options: PushOptions) => {
      const body = `{${envelopeOf(kind, options)}${kind.members(await readJsonText(cli, file))}}`;
      const report = await api.push.text(source, kind.operation, body);
      print.record(report);
      if (options.waitForDevices === undefined) return;
      const { user, group, waitForDevices: waitS } = options;
      await waitForDevices(api, print, { source, user, group, seq: report.seq, waitS });
    }),
  );
  withExamples(command, kind.example);
}

function envelopeOf({ canRebuild }: PushKind, { user, group, rebuildMd }: PushOptions): string {
  const userId = user === undefined ? '' : `"user_id":${JSON.stringify(user)},`;
  const whose = group === undefined ? userId : `${userId}"group":${JSON.stringify(group)},`;
  return canRebuild && rebuildMd === false ? `${whose}"rebuild_md":false,` : whose;
}

/** The file holds the body without the user; other members are refused. */
function updateMembers(json: string): string {
  const content: unknown = parseJson(json);
  const names = typeof content === 'object' && content !== null ? Object.keys(content).sort() : [];
  if (Array.isArray(content) || names.join() !== 'data,delete_data') {
    throw usageFailure('the content must be an object with delete_data and data, and nothing else');
  }
  return json.slice(1, -1);
}
