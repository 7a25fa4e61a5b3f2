import type { SourceTypes, Untyped } from '@tidemark/protocol';
import { PushCalls } from '../push/push-calls.ts';
import { type CallOptions, type ClientOptions, Transport } from '../transport/transport.ts';
import { ActivityCalls } from './calls/activity.ts';
import { BackupCalls } from './calls/backups.ts';
import { ConnectorCalls } from './calls/connectors.ts';
import { DocumentCalls } from './calls/documents.ts';
import { FileCalls } from './calls/files.ts';
import { GroupCalls } from './calls/groups.ts';
import { JobCalls } from './calls/jobs.ts';
import { PingCalls } from './calls/pings.ts';
import { SessionCalls } from './calls/session.ts';
import { SourceCalls } from './calls/sources.ts';
import { AuditCalls, SystemCalls } from './calls/system.ts';
import { TokenCalls } from './calls/tokens.ts';
import { ClientCalls, UserCalls } from './calls/users.ts';

/** All calls of administrators and backends, grouped like the API. `S` are the types of the sources, if the backend has them. */
export class TidemarkClient<S extends SourceTypes = Untyped> {
  readonly system: SystemCalls;
  readonly backups: BackupCalls;
  readonly connectors: ConnectorCalls;
  readonly users: UserCalls;
  readonly groups: GroupCalls;
  readonly sources: SourceCalls;
  readonly clients: ClientCalls;
  readonly documents: DocumentCalls<S>;
  readonly files: FileCalls;
  readonly push: PushCalls<S>;
  readonly tokens: TokenCalls;
  readonly audit: AuditCalls;
  readonly activity: ActivityCalls;
  readonly jobs: JobCalls;
  readonly pings: PingCalls;
  readonly session: SessionCalls;

  constructor(options: ClientOptions) {
    const api = new Transport(options);
    this.system = new SystemCalls(api);
    this.backups = new BackupCalls(api);
    this.connectors = new ConnectorCalls(api);
    this.users = new UserCalls(api);
    this.groups = new GroupCalls(api);
    this.sources = new SourceCalls(api);
    this.clients = new ClientCalls(api);
    this.documents = new DocumentCalls(api);
    this.files = new FileCalls(api);
    this.push = new PushCalls(api);
    this.tokens = new TokenCalls(api);
    this.audit = new AuditCalls(api);
    this.activity = new ActivityCalls(api);
    this.jobs = new JobCalls(api);
    this.pings = new PingCalls(api);
    this.session = new SessionCalls(api);
  }

  /** Returns a client with a token of the administrator. Services should use a named token instead. */
  static async logIn<S extends SourceTypes = Untyped>(
    options: Omit<ClientOptions, 'token'> & { readonly login: string; readonly password: string },
    call?: CallOptions,
  ): Promise<TidemarkClient<S>> {
    const { login, password, ...rest } = options;
    const { token } = await new TidemarkClient(rest).system.logIn({ login, password }, call);
    return new TidemarkClient<S>({ ...rest, token });
  }
}
