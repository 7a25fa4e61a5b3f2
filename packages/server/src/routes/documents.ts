import { type DocumentScope, type DocumentView, isFilteredList } from '@tidemark/core';
import { FILTER_READ_OBJECTS_MAX, OBJECT_LIST_MAX } from '@tidemark/protocol';
import { DocumentReport, ObjectList } from '@tidemark/protocol/admin/sources';
import { closed, text } from '@tidemark/protocol/annotated';
import { type TProperties, Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { prefersJson } from '../http/negotiate.ts';
import { JsonText, type Route, route, TextAnswer } from '../http/route.ts';
import { MEMBERSHIP_REFUSALS, OBJECT_REFUSALS } from '../http/route-refusals.ts';
import { wholeNumber } from './paging.ts';
import { Document, DocumentBody, names } from './shapes.ts';

/** Each owner has some of these parameters, as its schema defines. */
interface OwnerParams {
  readonly user_id?: string;
  readonly client_id?: string;
  readonly group?: string;
  readonly source_id?: string;
}

/** The owner of the documents that routes are about. */
export interface DocumentOwner {
  /** Completes "a document of …". */
  readonly name: string;
  /** The suffix of its operation ids, such as `OfUser`. */
  readonly id: string;
  /** The path of its documents. */
  readonly path: string;
  readonly params: TProperties;
  readonly scopeOf: (params: OwnerParams) => DocumentScope;
}

/** The routes that read and write documents, which are the same for all owners. */
export function documentRoutes({ name, id, path, params, scopeOf }: DocumentOwner): readonly Route[] {
  const withDoc = Type.Object({ ...params, doc: text('The name of the document.', 'settings') });
  const read = route({
    method: 'GET',
    path: `${path}/:doc`,
    operationId: `documentsRead${id}`,
    scope: 'read',
    summary: `The content of a document of ${name}`,
    description: 'A string is answered as plain text, unless the caller prefers JSON.',
    refusals: MEMBERSHIP_REFUSALS,
    params: withDoc,
    answer: Document,
    isText: true,
    handle: async ({ context, params: given, accept }) =>
      documentAnswer(await context.tidemark.documents.read(scopeOf(given as OwnerParams), docOf(given)), accept),
  });
  const write = route({
    method: 'POST',
    path: `${path}/:doc`,
    operationId: `documentsWrite${id}`,
    scope: 'admin',
    summary: `Set or append the content of a document of ${name}`,
    refusals: ['type_conflict', 'document_too_large', 'schema_violation', ...OBJECT_REFUSALS, ...MEMBERSHIP_REFUSALS],
    params: withDoc,
    body: DocumentBody,
    answer: DocumentReport,
    audit: 'document.write',
    handle: ({ context, params: given, body }) =>
      context.tidemark.documents.write(scopeOf(given as OwnerParams), docOf(given), body),
  });
  return [read, write];
}

/** The route that lists the document names of an owner. */
export function docnamesRoute({ name, id, path, params, scopeOf }: DocumentOwner): Route {
  return route({
    method: 'GET',
    // Documents of the server have no `docs` in their path; `docnames` would be the name of one of them.
    path: path.replace(/\/docs$/, '/docnames'),
    operationId: `documentsNames${id}`,
    scope: 'read',
    summary: `The names of the documents of ${name}`,
    refusals: MEMBERSHIP_REFUSALS,
    params: Type.Object(params),
    answer: names('Names of documents.', ['md', 'settings']),
    handle: ({ context, params: given }) => context.tidemark.documents.names(scopeOf(given as OwnerParams)),
  });
}

/** The route that lists the objects of an owner of data. */
export function objectsRoute(operationId: string, { name, path, params, scopeOf }: DocumentOwner): Route {
  return route({
    method: 'GET',
    path: path.replace(/\/docs$/, '/objects'),
    operationId,
    scope: 'read',
    summary: `A page of the objects of ${name}`,
    description: `Objects come in the order of their last change, with the seqs at which their attributes changed. An object that changes between two pages comes again. With \`filter\` or \`sort\` the server looks at every object: the cost of a page grows with the number of objects. A page without \`sort\` reads at most ${FILTER_READ_OBJECTS_MAX} objects, and may hold none; \`next\` leads to the rest.`,
    refusals: [
      'invalid_value',
      'invalid_name',
      'object_not_found',
      'doc_not_found',
      'limit_exceeded',
      'overloaded',
      ...MEMBERSHIP_REFUSALS,
    ],
    params: Type.Object(params),
    query: ObjectsQuery,
    answer: ObjectList,
    handle: async ({ context, params: given, query: { limit, ...query }, bearer, hasHungUp }) => {
      const call = { ...query, ...(limit === undefined ? {} : { limit: wholeNumber('limit', limit) }) };
      const list = () => context.tidemark.documents.listObjects(scopeOf(given as OwnerParams), call, hasHungUp);
      return new JsonText(isFilteredList(call) ? await context.lists.run(bearer?.tokenHash ?? '', list) : await list());
    },
  });
}

const ObjectsQuery = Type.Object(
  {
    after: Type.Optional(text('The `next` of the previous page.', '1042')),
    from: Type.Optional(text('The id of the object that the page begins with, instead of `after`.', '17')),
    limit: Type.Optional(
      Type.String(
        documentedAs(
          Type.Integer({ minimum: 1, maximum: OBJECT_LIST_MAX, description: 'How many at most.', examples: [100] }),
        ),
      ),
    ),
    filter: Type.Optional(
      text(
        'Conditions that must all hold, as JSON: path → value, or path → operators (`eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `in`, `prefix`, `contains`, `exists`). `@id` is the id, `@seq` the seq of the last change, and `*` with `contains` looks at the id and all attributes. A list of such objects can name a path several times.',
        '{"status":"open","total":{"gte":10}}',
      ),
    ),
    sort: Type.Optional(text('The path of the attribute that the list is sorted by, or `@id` or `@seq`.', 'total')),
    order: Type.Optional(text('The direction of `sort`: `asc`, which is the default, or `desc`.', 'desc')),
  },
  closed,
);

function docOf(params: unknown): string {
  return (params as { readonly doc: string }).doc;
}

/** Returns objects as JSON; a text unchanged, or as a JSON string if the caller prefers JSON. */
function documentAnswer(view: DocumentView, accept: string | undefined): TextAnswer | JsonText {
  if (view.type === 'text') {
    return prefersJson(accept) ? new JsonText(JSON.stringify(view.text)) : new TextAnswer(view.text);
  }
  const members = [...view.objects].map(([id, text]) => `${JSON.stringify(id)}:${text}`);
  return new JsonText(`{${members.join(',')}}`);
}

const server: DocumentOwner = {
  name: 'the server',
  path: '/rc/v1/store',
  id: 'OfServer',
  params: {},
  scopeOf: () => ({ kind: 'server' }),
};

export const storeRoutes = [docnamesRoute(server), ...documentRoutes(server)];
