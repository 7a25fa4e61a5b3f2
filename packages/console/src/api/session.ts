import { QueryClient, useQuery } from '@tanstack/react-query';
import { TidemarkError } from '@tidemark/backend';
import type { CurrentSession } from '@tidemark/protocol';
import { useEffect } from 'react';
import { client, onSessionEnded } from './client.ts';

const SESSION = ['session'] as const;
const FRESH_MS = 5_000;

export const queries = new QueryClient({
  defaultOptions: {
    // Also without a network the calls are made, so that their failure is shown.
    queries: { staleTime: FRESH_MS, retry: false, refetchOnWindowFocus: true, networkMode: 'always' },
  },
});

export function useSession() {
  return useQuery({ queryKey: SESSION, queryFn: () => client.session.get(), staleTime: Number.POSITIVE_INFINITY });
}

/** Shows the sign-in screen as soon as the server refuses the session. */
export function useSessionEnd(): void {
  useEffect(() => onSessionEnded(() => setSession({ session: null })), []);
}

export function setSession(session: CurrentSession): void {
  if (session.session === null) queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
  queries.setQueryData(SESSION, session);
}

/** Returns whether the session may change anything. */
export function useIsAdmin(): boolean {
  return useSession().data?.session?.scopes.includes('admin') === true;
}

/** Whether the error says that there was no answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof TidemarkError && (error.code === 'unreachable' || error.code === 'timeout');
}

/** Returns an error in words for people. */
export function errorWords(error: unknown): { readonly title: string; readonly detail: string } {
  if (!(error instanceof TidemarkError)) {
    return { title: 'Something went wrong', detail: error instanceof Error ? error.message : String(error) };
  }
  if (isUnanswered(error)) {
    return {
      title: 'The server does not answer',
      detail: 'Is it running, and is the network up? Try again in a moment.',
    };
  }
  if (error.code === 'forbidden') {
    return { title: 'This session may not do that', detail: error.message };
  }
  return { title: 'The server refused', detail: error.message };
}
