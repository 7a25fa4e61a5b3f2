import { type DocumentOwner, documentRoutes } from './documents.ts';

const server: DocumentOwner = {
  name: 'the server',
  path: '/rc/v1/store',
  id: 'OfServer',
  params: {},
  scopeOf: () => ({ kind: 'server' }),
};

export const storeRoutes = documentRoutes(server);
