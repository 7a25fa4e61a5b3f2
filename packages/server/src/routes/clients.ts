import type { DocumentScope } from '@tidemark/core';
import { Type } from 'typebox';
import { route } from '../http/route.ts';
import { documentAnswer } from './documents.ts';
import { Document, DocumentBody, DocumentReport, Moment, Names, NullableText, Text } from './shapes.ts';

const Client = Type.Object(
  {
    client_id: Text,
    user_id: Text,
    device_type: NullableText,
    device_pin: NullableText,
    device_port: NullableText,
    device_push_type: NullableText,
    device_app_id: NullableText,
    device_app_version: NullableText,
    phone_id: NullableText,
    last_sync: NullableText,
    created_at: Moment,
  },
  { additionalProperties: false },
);
const SourceParams = Type.Object({ client_id: Text, source_id: Text });
const DocParams = Type.Object({ client_id: Text, source_id: Text, doc: Text });

function scopeOf({ client_id, source_id }: { readonly client_id: string; readonly source_id: string }): DocumentScope {
  return { kind: 'client', source: source_id, client: client_id };
}

const get = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id',
  scope: 'read',
  summary: 'The attributes of a device',
  params: Type.Object({ client_id: Text }),
  answer: Client,
  handle: async ({ desk, params, bearer }) => {
    const client = await desk.tidemark.clients.get(params.client_id);
    // The address a push service knows the device by is as good as a password for bothering its owner.
    const maySeePin = bearer?.scopes.includes('admin') === true;
    return maySeePin || client.device_pin === null ? client : { ...client, device_pin: '***' };
  },
});

const docnames = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id/sources/:source_id/docnames',
  scope: 'read',
  summary: 'The names of the documents of a device and source',
  params: SourceParams,
  answer: Names,
  handle: ({ desk, params }) => desk.tidemark.documentNames(scopeOf(params)),
});

const readDocument = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id/sources/:source_id/docs/:doc',
  scope: 'read',
  summary: 'The content of a document of a device and source',
  params: DocParams,
  answer: Document,
  isText: true,
  handle: async ({ desk, params, accept }) =>
    documentAnswer(await desk.tidemark.readDocument(scopeOf(params), params.doc), accept),
});

const writeDocument = route({
  method: 'POST',
  path: '/rc/v1/clients/:client_id/sources/:source_id/docs/:doc',
  scope: 'admin',
  summary: 'Set or append the content of a document of a device and source',
  params: DocParams,
  body: DocumentBody,
  answer: DocumentReport,
  audit: 'document.write',
  handle: ({ desk, params, body }) => desk.tidemark.writeDocument(scopeOf(params), params.doc, body),
});

export const clientRoutes = [get, docnames, readDocument, writeDocument];
