import type { DocumentOwner } from '@tidemark/backend';
import { client } from './client.ts';

/** The query for the names of documents, without that of the objects of a source, which have a table of their own. */
export function documentNames(owner: DocumentOwner) {
  return {
    queryKey: ['documents', owner],
    queryFn: async () => (await client.documents.names(owner)).filter((name) => !isSynchronised(owner, name)),
  };
}

function isSynchronised(owner: DocumentOwner, name: string): boolean {
  return name === 'md' && owner !== 'server' && !('client' in owner);
}
