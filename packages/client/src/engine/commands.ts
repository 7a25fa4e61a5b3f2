import type { JsonValue } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { FollowOptions } from '../pull/followed-groups.ts';
import type { Transaction } from '../state/local-state.ts';
import { writerOf } from '../state/owner.ts';
import type { Attributes } from '../state/rows.ts';
import { isOpen } from '../view/pending.ts';
import type { Engine } from './engine.ts';
import { loadObjectOf, requireProblem, resolveProblem, retryProblem } from './resolve-problem.ts';
import type { Credentials } from './sessions.ts';

/**
 * What an app can ask of a device besides reading and writing. Arguments and results can be sent to another tab, which
 * runs the command if it leads the device.
 */
const COMMANDS = {
  sync: (engine: Engine) => engine.sync(),

  async signIn(engine: Engine, credentials: Credentials, discardUploads: boolean): Promise<void> {
    requireOpen(engine);
    const { signIn } = await engine.network.load();
    await signIn.signIn(credentials, discardUploads, new AbortController().signal);
    engine.beginSession();
  },

  async signOut(engine: Engine, discardUploads: boolean): Promise<void> {
    requireOpen(engine);
    await engine.departures.signOut(discardUploads);
  },

  async startOver(engine: Engine): Promise<void> {
    requireOpen(engine);
    writerOf(engine.data.replica.reader);
    await engine.startOver();
  },

  async describe(engine: Engine, attributes: Readonly<Record<string, string | number | null>>): Promise<void> {
    const { clientId } = engine.sessions.owner() ?? {};
    if (clientId === undefined) throw clientError('signed_out', 'nobody is signed in');
    await ask(engine, 'PUT', `/clients/${encodeURIComponent(clientId)}`, attributes);
  },

  async search(engine: Engine, source: string, params: JsonValue): Promise<readonly [string, Attributes][]> {
    const answer = await ask(engine, 'POST', '/search', { source, params });
    const { objects = {} } = answer as { readonly objects?: Readonly<Record<string, Attributes>> };
    return Object.entries(objects);
  },

  async follow(engine: Engine, source: string, options: FollowOptions): Promise<void> {
    writerOf(engine.data.replica.reader);
    const { puller } = await engine.network.load();
    await puller.follow(source, options);
    puller.want(source);
    engine.dispatch({ type: 'pull_wanted' });
  },

  /** What the part that works on files does. */
  files: (engine: Engine, name: string, ...args: readonly unknown[]) => engine.files.run(name, args),

  async keepOffline(engine: Engine, isKeptOffline: boolean): Promise<void> {
    engine.keepOffline(isKeptOffline);
  },

  async sendUploads(engine: Engine): Promise<void> {
    engine.dispatch({ type: 'sync_wanted' });
  },

  async discardUpload({ data }: Engine, opId: string): Promise<readonly string[]> {
    return await data.replica.transact((tx) => {
      const upload = tx.get('uploads', ['', opId]);
      if (upload === undefined || !isOpen(upload)) {
        throw clientError('unknown_upload', `no upload ${JSON.stringify(opId)} is waiting`);
      }
      const dependentUploads = [...tx.entries('uploads', '')].filter(
        ([, { source, id, order }]) =>
          upload.op === 'create' && source === upload.source && id === upload.id && order > upload.order,
      );
      const gone = [opId, ...dependentUploads.map(([later]) => later)];
      for (const id of gone) tx.delete('uploads', ['', id]);
      return gone;
    });
  },

  async retryProblem(engine: Engine, opId: string): Promise<string> {
    const { data } = engine;
    const again = await data.replica.transact((tx) => retryProblem({ tx, data }, opId));
    engine.dispatch({ type: 'push_wanted' });
    return again;
  },

  /** The version is that of the app in the tab that calls. */
  async resolveProblem(engine: Engine, opId: string, given: object, version?: number): Promise<string | null> {
    const { data } = engine;
    const decide = (tx: Transaction) => resolveProblem({ tx, data }, opId, { given, version });
    const newOpId = await data.replica.transact(decide, { readBefore: () => loadObjectOf(data, opId) });
    if (newOpId !== null) engine.dispatch({ type: 'push_wanted' });
    return newOpId;
  },

  async dismissProblem({ data }: Engine, opId: string): Promise<void> {
    await data.replica.transact((tx) => {
      requireProblem(tx, opId);
      tx.delete('problems', ['', opId]);
    });
  },
} as const;

type Commands = typeof COMMANDS;
export type CommandName = keyof Commands;
export type CommandArguments<C extends CommandName> = Commands[C] extends (engine: Engine, ...args: infer A) => unknown
  ? A
  : never;
export type CommandResult<C extends CommandName> = Awaited<ReturnType<Commands[C]>>;

/** Runs a command on the engine of this tab. */
export function runCommand<C extends CommandName>(
  engine: Engine,
  name: C,
  args: CommandArguments<C>,
): Promise<CommandResult<C>> {
  const command = COMMANDS[name] as unknown as (
    engine: Engine,
    ...args: CommandArguments<C>
  ) => Promise<CommandResult<C>>;
  return command(engine, ...args);
}

async function ask(engine: Engine, method: 'POST' | 'PUT', path: string, body: unknown): Promise<unknown> {
  const { caller } = await engine.network.load();
  const { signal } = new AbortController();
  return await caller.ask({ method, path, body, read: (answer) => answer, signal });
}

function requireOpen(engine: Engine): void {
  if (engine.mode === 'stopped') throw clientError('closed', 'the device is closed');
}
