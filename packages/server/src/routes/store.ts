import { Type } from 'typebox';
import { route } from '../http/route.ts';
import { documentAnswer } from './documents.ts';
import { Document, DocumentBody, DocumentReport, Text } from './shapes.ts';

const Params = Type.Object({ doc: Text });

const readDocument = route({
  method: 'GET',
  path: '/rc/v1/store/:doc',
  scope: 'read',
  summary: 'The content of a server document',
  params: Params,
  answer: Document,
  isText: true,
  handle: async ({ desk, params, accept }) =>
    documentAnswer(await desk.tidemark.readDocument({ kind: 'server' }, params.doc), accept),
});

const writeDocument = route({
  method: 'POST',
  path: '/rc/v1/store/:doc',
  scope: 'admin',
  summary: 'Set or append the content of a server document',
  params: Params,
  body: DocumentBody,
  answer: DocumentReport,
  audit: 'document.write',
  handle: ({ desk, params, body }) => desk.tidemark.writeDocument({ kind: 'server' }, params.doc, body),
});

export const storeRoutes = [readDocument, writeDocument];
