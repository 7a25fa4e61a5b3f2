import type {
  Deleted,
  PartitionType,
  Receipt,
  RefreshDue,
  SchemaChanges,
  SchemaDiff,
  SchemaProposal,
  SchemaReport,
  SchemaView,
  Source,
  SourceAttributes,
} from '@tidemark/protocol';
import type { Objects } from '../../push/objects.ts';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';

export type SourceDeclaration = Pick<SourceAttributes, 'name'> & Partial<SourceAttributes>;

/** The attributes of a source that can change. */
export type SourceChanges = Partial<Omit<SourceAttributes, 'name' | 'partition_type'>>;

export interface SourceUpdateOptions extends CallOptions {
  /** The author of the change, for the audit trail. */
  readonly userName?: string;
}

export interface RefreshOptions extends CallOptions {
  /** Seconds until the refresh is due. Absent: at the next sync. */
  readonly refreshTimeS?: number;
}

export interface InferOptions extends CallOptions {
  /** Objects to make the schema from. Absent: the stored objects. */
  readonly samples?: Objects;
}

export interface ReceiptOptions extends CallOptions {
  /** Only the devices of this user. Needed unless the source is shared by all users. */
  readonly user?: string;
  /** The group, for a source whose data belongs to groups. */
  readonly group?: string;
  /** The seq that a push answered with. Absent: the newest. */
  readonly seq?: number;
  /** Waits up to so many seconds, at most 60, until all active devices have it. */
  readonly waitS?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
  readonly limit?: number;
}

/** Sources and their refresh times. */
export class SourceCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<readonly Source[]> {
    return this.#api.get('/rc/v1/sources', options);
  }

  listByType(partitionType: PartitionType, options?: CallOptions): Promise<readonly string[]> {
    return this.#api.get(path`/rc/v1/sources/type/${partitionType}`, options);
  }

  get(source: string, options?: CallOptions): Promise<Source> {
    return this.#api.get(path`/rc/v1/sources/${source}`, options);
  }

  declare(source: SourceDeclaration, options?: CallOptions): Promise<Source> {
    return this.#api.post('/rc/v1/sources', source, 'harmful', options);
  }

  update(source: string, changes: SourceChanges, { userName, ...options }: SourceUpdateOptions = {}): Promise<Source> {
    const body = { data: changes, ...(userName === undefined ? {} : { user_name: userName }) };
    return this.#api.put(path`/rc/v1/sources/${source}`, body, options);
  }

  /** The schema of a source, with its versions. */
  schema(source: string, options?: CallOptions): Promise<SchemaView> {
    return this.#api.get(path`/rc/v1/sources/${source}/schema`, options);
  }

  /** Sets the schema of a source, its mode or its oldest version. Another schema is a new version. */
  setSchema(source: string, changes: SchemaChanges, options?: CallOptions): Promise<SchemaView> {
    return this.#api.put(path`/rc/v1/sources/${source}/schema`, changes, options);
  }

  /** What `setSchema` would mean for the apps that are in use. It changes nothing. */
  diffSchema(source: string, changes: SchemaChanges, options?: CallOptions): Promise<SchemaDiff> {
    return this.#api.post(path`/rc/v1/sources/${source}/schema/diff`, changes, 'harmless', options);
  }

  /** Proposes a schema that fits the stored objects of the source, or the samples. It sets nothing. */
  inferSchema(source: string, { samples, ...options }: InferOptions = {}): Promise<SchemaProposal> {
    const body = samples === undefined ? {} : { samples };
    return this.#api.post(path`/rc/v1/sources/${source}/schema/infer`, body, 'harmless', options);
  }

  /** What a schema whose mode is `report` would have refused, since the server that answers has started. */
  schemaReport(source: string, options?: CallOptions): Promise<SchemaReport> {
    return this.#api.get(path`/rc/v1/sources/${source}/schema/report`, options);
  }

  /** Which devices have acknowledged a push. */
  receipts(
    source: string,
    { user, group, waitS, seq, after, limit, ...options }: ReceiptOptions = {},
  ): Promise<Receipt> {
    const query = { user_id: user, group, seq, wait_s: waitS, after, limit };
    return this.#api.get(path`/rc/v1/sources/${source}/receipts`, options, query);
  }

  /** Deletes the source with all its data. */
  drop(source: string, options?: CallOptions): Promise<Deleted> {
    return this.#api.delete(path`/rc/v1/sources/${source}`, options);
  }

  /** Sets when Tidemark asks the backend again for a user's data. For shared data, any user can be given. */
  refresh(source: string, user: string, { refreshTimeS, ...options }: RefreshOptions = {}): Promise<RefreshDue> {
    const body = refreshTimeS === undefined ? {} : { refresh_time: refreshTimeS };
    const where = path`/rc/v1/read_state/users/${user}/sources/${source}`;
    return this.#api.post(where, body, 'harmless', options);
  }
}
