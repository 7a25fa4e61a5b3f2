import type {
  AttributesOfSource,
  DocumentReport,
  ObjectFilters,
  ObjectList,
  SourceTypes,
  Untyped,
} from '@tidemark/protocol';
import type { ObjectEntry, Objects } from '../../push/objects.ts';
import { objectsFromJson } from '../../push/read-objects.ts';
import { path } from '../../transport/path.ts';
import type { Repetition } from '../../transport/retry-policy.ts';
import type { CallOptions, Outgoing, TextAnswer, Transport } from '../../transport/transport.ts';

/** The owner of documents: the server, a user, a group or a device in a source, or all users of a source. */
export type DocumentOwner =
  | 'server'
  | { readonly source: string; readonly user: string }
  | { readonly source: string; readonly group: string }
  | { readonly source: string; readonly client: string }
  | { readonly source: string; readonly shared: true };

/** The owners of documents of a source. */
export type SourceDocumentOwner = Exclude<DocumentOwner, 'server'>;

type ObjectsOwner = Exclude<SourceDocumentOwner, { readonly client: string }>;

export interface ObjectListOptions extends CallOptions {
  /** The `next` of the previous page. */
  readonly after?: number | string;
  /** The id of the object that the page begins with, instead of `after`. */
  readonly from?: string;
  /** At most 1,000. */
  readonly limit?: number;
  /** Only objects that match, of all there are. The server reads every object for it, unless `@id` with `eq` or `in` names them. */
  readonly filter?: ObjectFilters;
  /** The path of the attribute that the list is sorted by, `@id` or `@seq`. The server reads every object for each page. */
  readonly sort?: string;
  /** The direction of `sort`; absent: `asc`. */
  readonly order?: 'asc' | 'desc';
}

/** A page of objects, whose attributes have the type of their source. */
export type ObjectListOf<S extends SourceTypes, N extends keyof S> = string extends keyof S
  ? ObjectList
  : Omit<ObjectList, 'objects'> & { readonly objects: readonly ListedObject<AttributesOfSource<S, N>>[] };

type ListedObject<A> = Omit<ObjectList['objects'][number], 'attributes'> & { readonly attributes: A };

export interface WriteOptions extends CallOptions {
  /** True: a text is appended and objects are merged, instead of replacing the document. */
  readonly append?: boolean;
}

/** Documents: texts, or objects such as `md`, the current data of a source. */
export class DocumentCalls<S extends SourceTypes = Untyped> {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  names(owner: DocumentOwner, options?: CallOptions): Promise<readonly string[]> {
    return this.#api.get(owner === 'server' ? '/rc/v1/store' : `${sourcePath(owner)}/docnames`, options);
  }

  read(owner: DocumentOwner, doc: string, options?: CallOptions): Promise<Objects | string> {
    return this.#api.get(documentPath(owner, doc), options);
  }

  /** Reads a document as it is sent: numbers keep their spelling. A text is quoted unless `accept` allows other types than JSON. */
  readText(owner: DocumentOwner, doc: string, options: CallOptions & { readonly accept?: string } = {}) {
    const { accept = 'application/json', ...call } = options;
    const request = { method: 'GET', path: documentPath(owner, doc), repetition: 'harmless', accept } as const;
    return this.#api.text(request, call);
  }

  /** A page of the current objects of a source, in the order of their last change unless it is sorted. */
  objects<N extends keyof S & string>(
    owner: ObjectsOwner & { readonly source: N },
    options: ObjectListOptions = {},
  ): Promise<ObjectListOf<S, N>> {
    return this.#api.call(objectsRequest(owner, options), options);
  }

  /** The same page as JSON text, in which numbers keep their spelling. */
  objectsText(owner: ObjectsOwner, options: ObjectListOptions = {}): Promise<TextAnswer> {
    return this.#api.text(objectsRequest(owner, options), options);
  }

  /** Iterates over the objects of a document. */
  async *readObjects(owner: DocumentOwner, doc: string, options?: CallOptions): AsyncGenerator<ObjectEntry, void> {
    const request = { method: 'GET', path: documentPath(owner, doc), repetition: 'harmless' } as const;
    yield* objectsFromJson(await this.#api.stream(request, options));
  }

  write(
    owner: DocumentOwner,
    doc: string,
    data: Objects | string,
    { append = false, ...options }: WriteOptions = {},
  ): Promise<DocumentReport> {
    // Appending a text is the only write that is not idempotent.
    const repetition: Repetition = append && typeof data === 'string' ? 'harmful' : 'harmless';
    return this.#api.post(documentPath(owner, doc), { data, append }, repetition, options);
  }

  /** Writes data that is JSON text already, and is sent unchanged. */
  writeText(
    owner: DocumentOwner,
    doc: string,
    json: string,
    { append = false, ...options }: WriteOptions = {},
  ): Promise<DocumentReport> {
    const body = `{"data":${json},"append":${append}}`;
    const request = { method: 'POST', path: documentPath(owner, doc), body } as const;
    return this.#api.call({ ...request, repetition: append ? 'harmful' : 'harmless' }, options);
  }
}

function objectsRequest(owner: ObjectsOwner, options: ObjectListOptions): Outgoing {
  const { after, from, limit, filter, sort, order } = options;
  const conditions = filter === undefined ? undefined : JSON.stringify(filter);
  const query = { after, from, limit, sort, order, filter: conditions };
  return { method: 'GET', path: `${sourcePath(owner)}/objects`, query, repetition: 'harmless' };
}

function documentPath(owner: DocumentOwner, doc: string): string {
  return owner === 'server' ? path`/rc/v1/store/${doc}` : `${sourcePath(owner)}${path`/docs/${doc}`}`;
}

function sourcePath(owner: SourceDocumentOwner): string {
  if ('client' in owner) return path`/rc/v1/clients/${owner.client}/sources/${owner.source}`;
  if ('group' in owner) return path`/rc/v1/groups/${owner.group}/sources/${owner.source}`;
  return path`/rc/v1/users/${'user' in owner ? owner.user : '*'}/sources/${owner.source}`;
}
