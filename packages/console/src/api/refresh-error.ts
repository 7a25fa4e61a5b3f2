import { TidemarkError } from '@tidemark/backend';
import { client } from './client.ts';

/** Why the last refresh of the shared data failed. */
export interface RefreshError {
  readonly code: string;
  readonly detail: string;
  readonly failures: number;
  readonly retry_at: string;
}

/** The document in which the server keeps why the last refresh failed. */
const ERRORS = 'errors';

/** Returns null if the last refresh of the shared data succeeded, or there was none. */
export async function refreshErrorOf(source: string): Promise<RefreshError | null> {
  const owner = { source, shared: true } as const;
  // Reading a document that does not exist would be an error in the console of the browser.
  if (!(await client.documents.names(owner)).includes(ERRORS)) return null;
  try {
    const errors = await client.documents.read(owner, ERRORS);
    return (errors as unknown as { readonly query?: RefreshError }).query ?? null;
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'doc_not_found') return null;
    throw error;
  }
}
