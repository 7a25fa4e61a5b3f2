import { once } from 'node:events';
import type { Device, SyncedObject, UploadProblem } from '@tidemark/client';
import type { Command } from 'commander';
import { type Cli, timeoutMs } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { isExposed } from '../credentials.ts';
import { commandGroup, withExamples } from '../examples.ts';
import { attributeOf, readPassword } from '../input.ts';
import type { Printer } from '../printer.ts';
import { catchUp, deviceCommand, folderOf } from './device-command.ts';
import { addDeviceFiles } from './device-files.ts';

type Look = SyncedObject;

export function addDevice(program: Command, cli: Cli): void {
  const group = commandGroup(
    program,
    'device',
    'Simulate a device, to see what devices see',
    'tidemark device login ada',
    'tidemark device create Order customer=Ada total=12',
    'tidemark device watch',
    'tidemark device list Order --folder second-device',
  );
  addLogin(group, cli);
  addLogout(group, cli);
  addPull(group, cli);
  addWatch(group, cli);
  addList(group, cli);
  addChanges(group, cli);
  addDeviceFiles(group, cli);
  addQueue(group, cli);
  addProblems(group, cli);
  addSwitch(group, cli, 'offline', 'Stop using the network');
  addSwitch(group, cli, 'online', 'Use the network again, and synchronise');
}

interface LoginOptions {
  readonly passwordStdin?: boolean;
  readonly discard?: boolean;
  readonly name?: string;
  readonly sqlite?: boolean;
}

function addLogin(group: Command, cli: Cli): void {
  const command = deviceCommand(group, 'login', 'Log in on the device, and synchronise')
    .argument('<login>')
    .option('--password-stdin', 'read the password from the standard input')
    .option('--discard', 'discard changes of the previous user that were not uploaded')
    .option('--name <name>', 'what administrators see as the name of the device; the name of this computer by default')
    .option('--sqlite', 'keep the data of the device in SQLite instead of files; said once, when the device is made')
    .action(async (login: string, options: LoginOptions, self: Command) => {
      const folder = folderOf(cli, self);
      const url = cli.url(self);
      const { name, sqlite: isSqlite = false } = options;
      folder.settle(url, { isSqlite, ...(name === undefined ? {} : { name }) });
      if (isExposed(url)) cli.terminal.say(`warning: the password is sent to ${url} unencrypted; use https`);
      const question = `Password of ${login} at ${url}: `;
      const password = await readPassword(cli, { question, isFromInput: options.passwordStdin === true, isNew: false });
      await folder.use({ network: true }, async (device) => {
        await device.signIn({ login, password }, { discardUploads: options.discard === true });
        await catchUp(device, self);
        tellState(cli, self, device);
      });
    });
  withExamples(
    command,
    'tidemark device login ada',
    'tidemark device login ada --folder till-3 --name "Till 3"',
    'tidemark device login bob --folder second-device --password-stdin < password.txt',
  );
}

function addLogout(group: Command, cli: Cli): void {
  const command = deviceCommand(group, 'logout', 'Log out, and delete the data on the device')
    .option('--discard', 'also discard changes that were not uploaded')
    .action((options: { discard?: boolean }, self: Command) =>
      folderOf(cli, self).use({ network: true }, async (device) => {
        await device.signOut({ discardUploads: options.discard === true });
        cli.terminal.say('Signed out.');
      }),
    );
  withExamples(command, 'tidemark device logout', 'tidemark device logout --discard');
}

function addPull(group: Command, cli: Cli): void {
  const command = deviceCommand(group, 'pull', 'Upload local changes, and pull').action(
    (_options: object, self: Command) =>
      folderOf(cli, self).use({ network: true }, async (device) => {
        await catchUp(device, self);
        tellState(cli, self, device);
      }),
  );
  withExamples(command, 'tidemark device pull', 'tidemark device pull --json');
}

function addList(group: Command, cli: Cli): void {
  const command = deviceCommand(group, 'list', 'Show the data on the device, without network')
    .argument('[source]', 'one source; by default all sources, with their sizes')
    .action((source: string | undefined, _options: object, self: Command) =>
      folderOf(cli, self).use({ network: false }, async (device) => {
        if (source === undefined) tellState(cli, self, device);
        else tellObjects(cli.printer(self), device.source(source).list());
      }),
    );
  withExamples(command, 'tidemark device list', 'tidemark device list Order', 'tidemark device list Order --json');
}

/** Adds create, edit and delete, which store the change in the folder and send it when there is a network. */
function addChanges(group: Command, cli: Cli): void {
  const create = deviceCommand(group, 'create', 'Create an object on the device')
    .argument('<source>')
    .argument('<name=value...>', 'attributes; numbers, true, false and null are sent as JSON, anything else as text')
    .option('--id <id>', 'the id; generated by default')
    .action((source: string, given: readonly string[], options: { id?: string }, self: Command) =>
      change(cli, self, async (device) => {
        const attributes = Object.fromEntries(given.map(attributeOf));
        const object = await device
          .source(source)
          .create(attributes, options.id === undefined ? {} : { id: options.id });
        return { source, id: object.id };
      }),
    );
  withExamples(
    create,
    'tidemark device create Order customer=Ada total=12',
    'tidemark device create Order customer=Bob --id order-7',
  );
  const edit: Command = deviceCommand(group, 'edit', 'Change attributes of an object on the device')
    .argument('<source>')
    .argument('<id>')
    .argument('<name=value...>', 'attributes; numbers, true, false and null are sent as JSON, anything else as text')
    .action((source: string, id: string, given: readonly string[]) =>
      change(cli, edit, async (device) => {
        await device.source(source).update(id, Object.fromEntries(given.map(attributeOf)));
        return { source, id };
      }),
    );
  withExamples(edit, 'tidemark device edit Order order-7 total=13 paid=true');
  const remove = deviceCommand(group, 'delete', 'Delete an object on the device')
    .argument('<source>')
    .argument('<id>')
    .action((source: string, id: string, _options: object, self: Command) =>
      change(cli, self, async (device) => {
        await device.source(source).delete(id);
        return { source, id };
      }),
    );
  withExamples(remove, 'tidemark device delete Order order-7');
}

interface Changed {
  readonly source: string;
  readonly id: string;
}

async function change(cli: Cli, self: Command, make: (device: Device) => Promise<Changed>): Promise<void> {
  await folderOf(cli, self).use({ network: true }, async (device) => {
    const known = new Set(device.problems.list().map(({ opId }) => opId));
    const { source, id } = await make(device);
    const isSent = await device.sync({ signal: AbortSignal.timeout(timeoutMs(self)) }).then(
      () => true,
      // The change is stored; it is sent later if the network is down.
      () => false,
    );
    const isNew = ({ opId }: UploadProblem) => !known.has(opId);
    const problem = device.problems.list().find((one) => one.source === source && one.id === id && isNew(one));
    if (problem !== undefined) throw rejected(problem.error, problem.current);
    if (!isSent) cli.terminal.say('Kept on the device; it is sent when the server can be reached.');
    const now = device.source(source).get(id);
    cli.printer(self).record({ source, id, pending: now?.isPending ?? !isSent, attributes: now?.attributes ?? null });
  });
}

function rejected(error: { readonly code: string; readonly detail: string }, current: object | null): CliFailure {
  return new CliFailure(`the server says no: ${error.detail}`, {
    code: error.code,
    hint: `it has ${current === null ? 'no such object' : JSON.stringify(current)}; the change was rolled back`,
  });
}

function addQueue(group: Command, cli: Cli): void {
  const command = deviceCommand(group, 'queue', 'List changes that are not uploaded or were rejected').action(
    (_options: object, self: Command) =>
      folderOf(cli, self).use({ network: false }, async (device) => {
        const waiting = device.uploads.list().map(({ state, ...rest }) => ({ state: String(state), ...rest }));
        const refused = device.problems.list().map(({ status, error, ...rest }) => {
          return { state: status, ...rest, reason: `${error.code}: ${error.detail}` };
        });
        const files = device.files.waiting.getSnapshot().map(({ file, state }) => {
          const reason = state.status === 'failed' ? `${state.error.code}: ${state.error.detail}` : '';
          return { state: state.status, op: 'file', id: file.sha256, attributes: { ...file }, reason };
        });
        const rows = [...waiting, ...refused, ...files];
        cli.printer(self).table(rows, ['state', 'op', 'source', 'id', 'opId', 'attributes', 'reason']);
      }),
  );
  withExamples(command, 'tidemark device queue', 'tidemark device queue --json');
}

/** Adds retry and dismiss, which deal with refused changes. */
function addProblems(group: Command, cli: Cli): void {
  const retry = deviceCommand(group, 'retry', 'Make refused changes again, and send them')
    .argument('[op_id]', 'one change, as `device queue` lists it; by default all')
    .action((opId: string | undefined, _options: object, self: Command) =>
      folderOf(cli, self).use({ network: true }, async (device) => {
        for (const problem of problemsOf(device, opId)) await device.problems.retry(problem.opId);
        await catchUp(device, self);
        tellState(cli, self, device);
      }),
    );
  withExamples(retry, 'tidemark device retry', 'tidemark device retry 0Kd2vQe1XbF7sT9mLpRc4w');
  const dismiss = deviceCommand(group, 'dismiss', 'Forget refused changes')
    .argument('[op_id]', 'one change, as `device queue` lists it; by default all')
    .action((opId: string | undefined, _options: object, self: Command) =>
      folderOf(cli, self).use({ network: false }, async (device) => {
        for (const problem of problemsOf(device, opId)) await device.problems.dismiss(problem.opId);
        tellState(cli, self, device);
      }),
    );
  withExamples(dismiss, 'tidemark device dismiss', 'tidemark device dismiss 0Kd2vQe1XbF7sT9mLpRc4w');
}

function problemsOf(device: Device, opId: string | undefined): readonly UploadProblem[] {
  const problems = device.problems.list();
  if (opId === undefined) return problems;
  const named = problems.filter((problem) => problem.opId === opId);
  if (named.length > 0) return named;
  throw new CliFailure(`no refused change has the op_id ${JSON.stringify(opId)}`, {
    code: 'unknown_upload',
    hint: 'see tidemark device queue',
  });
}

function addSwitch(group: Command, cli: Cli, name: 'offline' | 'online', description: string): void {
  const command = deviceCommand(group, name, description).action(async (_options: object, self: Command) => {
    const folder = folderOf(cli, self);
    folder.setOffline(name === 'offline');
    await folder.use({ network: name === 'online' }, async (device) => {
      if (name === 'online') await catchUp(device, self);
      tellState(cli, self, device);
    });
  });
  withExamples(command, `tidemark device ${name}`);
}

function addWatch(group: Command, cli: Cli): void {
  const command = deviceCommand(group, 'watch', 'Synchronise continuously, and print every change')
    .argument('[source]', 'only this source')
    .action((source: string | undefined, _options: object, self: Command) =>
      folderOf(cli, self).use({ network: true, live: true }, async (device) => {
        await catchUp(device, self);
        const names = source === undefined ? device.sourceNames() : [source];
        const stop = names.map((name) => follow(cli.printer(self), cli, device, name));
        device.on('problem', ({ source: from, id, error }) => cli.terminal.say(`! ${from} ${id} ${error.detail}`));
        device.on('ping', ({ message }) => cli.terminal.say(`ping ${message ?? ''}`));
        cli.terminal.say(`Watching ${names.join(', ')}; Ctrl-C ends it.`);
        await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
        for (const end of stop) end();
      }),
    );
  withExamples(command, 'tidemark device watch', 'tidemark device watch Order', 'tidemark device watch --json');
}

/** Prints the differences since the last call: + new, ~ changed, - deleted. */
function follow(print: Printer, cli: Cli, device: Device, name: string): () => void {
  const source = device.source(name);
  let before: ReadonlyMap<string, Look> = byId(source.list());
  return source.subscribe(() => {
    const after = byId(source.list());
    for (const [id, object] of after) {
      const known = before.get(id);
      if (known !== object) tellChange(print, cli, { sign: known === undefined ? '+' : '~', source: name, id, object });
    }
    for (const id of before.keys())
      if (!after.has(id)) tellChange(print, cli, { sign: '-', source: name, id, object: null });
    before = after;
  });
}

interface ObjectChange {
  readonly sign: '+' | '~' | '-';
  readonly source: string;
  readonly id: string;
  /** Null: the object was deleted. */
  readonly object: Look | null;
}

/** Prints one line per change, also as JSON, so that a program can read a stream of them. */
function tellChange(print: Printer, cli: Cli, { sign, source, id, object }: ObjectChange): void {
  const pending = object?.isPending ?? false;
  const attributes = object?.attributes ?? null;
  if (print.isJson) cli.terminal.out(`${JSON.stringify({ change: sign, source, id, pending, attributes })}\n`);
  else print.names([`${sign} ${source} ${id}${attributes === null ? '' : ` ${JSON.stringify(attributes)}`}`]);
}

function byId(objects: readonly Look[]): ReadonlyMap<string, Look> {
  return new Map(objects.map((object) => [object.id, object]));
}

function tellState(cli: Cli, self: Command, device: Device): void {
  const { mode, userId, clientId, pendingUploads, problems, sourceTroubles } = device.status.getSnapshot();
  const sources = device.sourceNames().map((name) => ({
    source: name,
    objects: device.source(name).list().length,
    error: sourceTroubles.get(name) ?? null,
  }));
  const print = cli.printer(self);
  if (print.isJson) {
    print.json({
      user: userId,
      client_id: clientId,
      offline: mode === 'offline',
      pending: pendingUploads,
      problems,
      sources,
    });
    return;
  }
  const unsent = device.files.waiting.getSnapshot().length;
  const files = unsent === 0 ? '' : `; files not sent: ${unsent}`;
  cli.terminal.say(
    `${userId ?? 'nobody'} on ${clientId ?? 'no device'}: ${pendingUploads} waiting, ${problems} refused${files}`,
  );
  for (const { source, error } of sources) {
    if (error !== null) cli.terminal.say(`! ${source} could not be refreshed: ${error.detail} (${error.code})`);
  }
  print.table(sources, ['source', 'objects']);
}

function tellObjects(print: Printer, objects: readonly Look[]): void {
  const rows = objects.map(({ id, attributes, isPending }) => ({ id, pending: isPending, attributes }));
  print.table(rows, ['id', 'pending', 'attributes']);
}
