import { type Limits, Refusal } from '@tidemark/protocol';
import {
  admitContent,
  admitDocument,
  admitScope,
  type DocumentContent,
  type DocumentDirectory,
  storedScope,
} from '../admission/admit-document.ts';
import type { WriteCall } from '../admission/admit-write.ts';
import type { Pace } from '../ports/pace.ts';
import type { DocumentScope, Store } from '../ports/store.ts';
import { type DocumentReport, type DocumentView, NamedDocuments } from './named-documents.ts';
import type { ObjectPageCall } from './object-page.ts';
import type { Objects } from './objects.ts';

/** What a device has of a source, as administrators see it. */
export interface DeviceDocuments {
  /** The objects that the device has acknowledged. */
  acknowledgedObjects(client: string, source: string): Promise<ReadonlyMap<string, string>>;
  /** Makes the device start over. */
  restart(client: string, source: string): Promise<void>;
}

export interface DocumentsParts {
  readonly store: Store;
  readonly limits: Limits;
  readonly pace: Pace;
  readonly directory: DocumentDirectory;
  readonly objects: Objects;
  readonly devices: DeviceDocuments;
}

/** `md` is the document that is synchronised, `cd` the part of it that a device has acknowledged. */
const MD = 'md';
const CD = 'cd';

/** Documents by name, those that are made of objects among them. */
export class Documents {
  readonly #parts: DocumentsParts;
  readonly #named: NamedDocuments;

  constructor(parts: DocumentsParts) {
    this.#parts = parts;
    this.#named = new NamedDocuments(parts.store, parts.limits, parts.pace);
  }

  async read(scope: DocumentScope, name: unknown): Promise<DocumentView> {
    const { directory, objects, devices } = this.#parts;
    const address = await admitDocument(directory, scope, name);
    if (isCd(scope, address.key.name)) {
      return { type: 'objects', objects: await devices.acknowledgedObjects(scope.client, scope.source) };
    }
    const call = await this.#mdCall(scope, address.key.name);
    return call === null ? this.#named.read(address) : { type: 'objects', objects: await objects.readTexts(call) };
  }

  /** Returns a page of the objects of `md`, as `Objects.list` does. */
  async listObjects(scope: DocumentScope, page: ObjectPageCall, isOver?: () => boolean): Promise<string> {
    await admitScope(this.#parts.directory, scope);
    const call = await this.#mdCall(scope, MD);
    if (call === null) throw new Error('only the data of a source can be listed');
    return this.#parts.objects.list(call, page, isOver);
  }

  async write(
    scope: DocumentScope,
    name: unknown,
    { data, append = false }: { readonly data: unknown; readonly append?: boolean },
  ): Promise<DocumentReport> {
    const { directory, limits, pace } = this.#parts;
    const address = await admitDocument(directory, scope, name);
    const call = await this.#mdCall(scope, address.key.name);
    if (call !== null) return this.#writeMd(call, data, append);
    const content = await admitContent(data, limits, pace);
    if (isCd(scope, address.key.name)) return this.#writeCd(scope, content);
    return append ? this.#named.append(address, content) : this.#named.set(address, content);
  }

  /** Lists documents, `md` and `cd` first. Documents that cannot be read are not listed. */
  async names(scope: DocumentScope): Promise<readonly string[]> {
    const { store, directory } = this.#parts;
    await admitScope(directory, scope);
    const names = await store.documentNames(await storedScope(directory, scope));
    if (scope.kind === 'client') return [CD, ...names];
    return mdCall(scope, MD) === null || (await this.#isWithoutShared(scope)) ? names : [MD, ...names];
  }

  /** Whether the scope asks for shared data of a source whose data belongs to users or groups. */
  async #isWithoutShared(scope: DocumentScope): Promise<boolean> {
    if (scope.kind !== 'shared') return false;
    const type = (await this.#parts.directory.sources.find(scope.source))?.partition_type;
    return type === 'user' || type === 'group';
  }

  async #mdCall(scope: DocumentScope, name: string): Promise<WriteCall | null> {
    const call = mdCall(scope, name);
    if (call === null || !(await this.#isWithoutShared(scope))) return call;
    throw new Refusal(
      'doc_not_found',
      `the data of this source belongs to its users or groups; there is no shared "${MD}"`,
    );
  }

  async #writeMd(call: WriteCall, data: unknown, append: boolean): Promise<DocumentReport> {
    const { objects } = this.#parts;
    refuseText(MD, typeof data === 'string');
    if (append) await objects.push({ ...call, objects: data }, undefined, 'document');
    else await objects.replace({ ...call, objects: data, since: null }, 'document');
    const { size } = await objects.partition(call);
    return { doc: MD, type: 'objects', size };
  }

  /** The data on a device cannot be written by the server. Writing `cd` makes the device start over. */
  async #writeCd({ source, client }: ClientScope, { type }: DocumentContent): Promise<DocumentReport> {
    refuseText(CD, type === 'text');
    await this.#parts.devices.restart(client, source);
    return { doc: CD, type: 'objects', size: 0 };
  }
}

type ClientScope = Extract<DocumentScope, { readonly kind: 'client' }>;

function isCd(scope: DocumentScope, name: string): scope is ClientScope {
  return scope.kind === 'client' && name === CD;
}

/** Returns the partition behind the document `md`; null for other documents. */
function mdCall(scope: DocumentScope, name: string): WriteCall | null {
  if (name !== MD) return null;
  if (scope.kind === 'user') return { source: scope.source, user_id: scope.user };
  if (scope.kind === 'group') return { source: scope.source, group: scope.group };
  return scope.kind === 'shared' ? { source: scope.source } : null;
}

function refuseText(name: string, isText: boolean): void {
  if (!isText) return;
  throw new Refusal('type_conflict', `the document "${name}" holds a hash of hashes; a string cannot be written to it`);
}
