import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';

const REFRESH_MS = 10_000;

/** How much files take, and what has not arrived. */
export function useFileUsage() {
  return useQuery({
    queryKey: ['files', 'usage'],
    queryFn: () => client.files.usage(),
    refetchInterval: REFRESH_MS,
  });
}
