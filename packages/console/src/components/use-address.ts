import { useNavigate, useSearch } from '@tanstack/react-router';

/**
 * Returns what the address of a screen says about what is shown, and a function that changes some of it. Whoever reloads
 * the address, or sends it to somebody, sees the same. Empty texts are left out of it.
 */
export function useAddress<Search extends object>(to: string): readonly [Search, (changes: Search) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (changes: Search) =>
    void navigate({ to, search: (before: object) => ({ ...before, ...changes }), replace: true } as never);
  return [search, change];
}
