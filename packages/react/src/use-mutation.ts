import { useCallback, useInsertionEffect, useReducer, useRef } from 'react';
import { useMaybeDevice } from './provider.ts';
import type { RegisteredDevice } from './register.ts';

interface MutationState<T> {
  readonly running: number;
  readonly data: T | undefined;
  readonly error: Error | null;
}

export interface Mutation<V, T> {
  /** Makes the change at once; a failure shows in `error`. */
  readonly mutate: (variables: V) => void;
  /** As `mutate`, but returns the result, and rejects if it fails. */
  readonly mutateAsync: (variables: V) => Promise<T>;
  /** True until everything that was started is stored. The change itself shows before that. */
  readonly isPending: boolean;
  /** The result of the last one that succeeded. */
  readonly data: T | undefined;
  /** Why the last one failed; null after one that succeeded. */
  readonly error: Error | null;
  /** Forgets `data` and `error`. */
  readonly reset: () => void;
}

/** Changes data and tells how it went. `change` may be another function in every render; the latest is called. */
export function useMutation<V = void, T = unknown>(
  change: (device: RegisteredDevice, variables: V) => Promise<T>,
): Mutation<V, T> {
  const device = useMaybeDevice();
  const latest = useRef(change);
  useInsertionEffect(() => {
    latest.current = change;
  });
  const [state, dispatch] = useReducer(merge<T>, { running: 0, data: undefined, error: null });
  const mutateAsync = useCallback(
    async (variables: V): Promise<T> => {
      if (device === null) throw new Error('there is no device while a server renders');
      dispatch({ running: 1 });
      try {
        const data = await latest.current(device, variables);
        dispatch({ running: -1, data, error: null });
        return data;
      } catch (error) {
        dispatch({ running: -1, error: error instanceof Error ? error : new Error(String(error)) });
        throw error;
      }
    },
    [device],
  );
  const mutate = useCallback(
    (variables: V) => {
      mutateAsync(variables).catch(() => undefined);
    },
    [mutateAsync],
  );
  const reset = useCallback(() => dispatch({ running: 0, data: undefined, error: null }), []);
  return { mutate, mutateAsync, isPending: state.running > 0, data: state.data, error: state.error, reset };
}

/** `running` is what it changes by. */
function merge<T>(state: MutationState<T>, change: Partial<MutationState<T>>): MutationState<T> {
  return { ...state, ...change, running: state.running + (change.running ?? 0) };
}
