import { TidemarkError } from '@tidemark/backend';
import { client } from './client.ts';

/** Why the last refresh of the shared data failed, as the server keeps it in the document `errors`. */
export interface RefreshError {
  readonly code: string;
  readonly detail: string;
  readonly failures: number;
  readonly retry_at: string;
}

/** Returns null if the last refresh of the shared data succeeded, or there was none. */
export async function refreshErrorOf(source: string): Promise<RefreshError | null> {
  try {
    const errors = await client.documents.read({ source, shared: true }, 'errors');
    return (errors as unknown as { readonly query?: RefreshError }).query ?? null;
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'doc_not_found') return null;
    throw error;
  }
}
