import { type Limits, pointer, Refusal } from '@tidemark/protocol';
import { groupOf } from '../ports/owner.ts';
import type { Pace } from '../ports/pace.ts';
import type { DocumentKey, DocumentScope, Guard } from '../ports/store.ts';
import { refuseFileReferences } from './admit-files.ts';
import { admitName, quoted } from './admit-name.ts';
import { admitManyObjects } from './admit-objects.ts';
import { type Directory, generationGuard } from './admit-write.ts';
import { type Admitted, asAdmitted, type ObjectTexts } from './admitted.ts';

/** Looks up the owners of documents. */
export interface DocumentDirectory extends Directory {
  readonly clients: { has(id: string): Promise<boolean> };
}

export interface DocumentAddress {
  readonly key: DocumentKey;
  /** Entries that must still exist when the document is written. */
  readonly guards: readonly Guard[];
}

/** The content of a document: a string, or a hash of hashes. */
export type DocumentContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'objects'; readonly objects: ObjectTexts };

/** Checks the scope and the name of a document. The document itself need not exist. */
export async function admitDocument(
  directory: DocumentDirectory,
  scope: DocumentScope,
  name: unknown,
): Promise<Admitted<DocumentAddress>> {
  const admittedName = admitName('document', name, pointer('doc'));
  const guards = await admitScope(directory, scope);
  return asAdmitted({ key: { scope: await storedScope(directory, scope), name: admittedName }, guards });
}

/** Returns the scope that stores the documents. Users whose data belongs to one group share its documents. */
export async function storedScope(directory: DocumentDirectory, scope: DocumentScope): Promise<DocumentScope> {
  const source = scope.kind === 'user' ? await directory.sources.find(scope.source) : null;
  if (scope.kind !== 'user' || source === null) return scope;
  const group = groupOf(await directory.sources.partitionOf(source, scope.user));
  return group === null ? scope : { kind: 'group', source: scope.source, group };
}

/** Checks that the owners of a scope exist, and returns them as guards. */
export async function admitScope(directory: DocumentDirectory, scope: DocumentScope): Promise<readonly Guard[]> {
  if (scope.kind === 'server') return [];
  const owners: Guard[] = [{ kind: 'source', key: [admitName('source', scope.source, pointer('source_id'))] }];
  const isKnown = directory.sources.find(scope.source).then((source) => source !== null);
  await demand('source_not_found', 'source', scope.source, isKnown);
  if (scope.kind === 'group') await requireGroupScope(directory, scope);
  else if (scope.kind === 'user') {
    const generation = await directory.users.generationOf(admitName('login', scope.user, pointer('user_id')));
    if (generation === null) throw new Refusal('user_not_found', `there is no user ${quoted(scope.user)}`);
    owners.push(generationGuard(scope.user, generation));
  } else if (scope.kind === 'client') {
    owners.push({ kind: 'client', key: [admitName('client', scope.client, pointer('client_id'))] });
    await demand('client_not_found', 'client', scope.client, directory.clients.has(scope.client));
  }
  return owners;
}

/** A group need not have members yet. */
async function requireGroupScope(
  directory: DocumentDirectory,
  { source, group }: { readonly source: string; readonly group: string },
): Promise<void> {
  admitName('group', group, pointer('group'));
  if ((await directory.sources.find(source))?.partition_type === 'group') return;
  throw new Refusal('invalid_request', `the data of ${quoted(source)} does not belong to groups`);
}

export async function admitContent(data: unknown, limits: Limits, pace: Pace): Promise<Admitted<DocumentContent>> {
  if (typeof data !== 'string') {
    const objects = await admitManyObjects(data, limits, 'data', pace);
    for (const [id, { text }] of objects) refuseFileReferences(text, 'a named document', pointer('data', id));
    return asAdmitted({ type: 'objects', objects });
  }
  const at = [{ pointer: pointer('data'), detail: 'must be well-formed Unicode' }];
  if (!data.isWellFormed()) throw new Refusal('invalid_value', 'the text is not well-formed Unicode', at);
  return asAdmitted({ type: 'text', text: data });
}

async function demand(
  code: 'source_not_found' | 'client_not_found',
  what: string,
  name: string,
  isKnown: Promise<boolean>,
): Promise<void> {
  if (!(await isKnown)) throw new Refusal(code, `there is no ${what} ${quoted(name)}`);
}
