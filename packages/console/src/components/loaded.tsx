import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { TidemarkError } from '@tidemark/backend';
import type { ReactNode } from 'react';
import { errorWords, isUnanswered } from '../api/session.ts';
import { useServerState } from './server-gone.tsx';

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
}

/** Shows the data of a query once it is there, and what is wrong when it is not. */
export function Loaded<T>({ query, children }: LoadedProps<T>) {
  const { data, error, refetch, isFetching } = query;
  const { isGone } = useServerState();
  // One banner says that the server does not answer; each part of the screen need not.
  const isShown = error !== null && !(isGone && isUnanswered(error));
  const failure = isShown ? <Failure error={error} onRetry={() => void refetch()} isBusy={isFetching} /> : null;
  if (data !== undefined) {
    return (
      <Stack gap="md">
        {failure}
        {children(data)}
      </Stack>
    );
  }
  if (failure !== null) return failure;
  return isGone ? <NotRead /> : <Waiting />;
}

/** There is nothing to show while the server does not answer; the banner says since when. */
function NotRead() {
  return (
    <Text size="sm" c="dimmed" className="card" role="status">
      This was not read before the server stopped answering. It appears when the server is back.
    </Text>
  );
}

export function Waiting() {
  return (
    <output aria-label="Loading">
      <Stack gap="sm">
        <Skeleton height={44} radius="md" />
        <Skeleton height={44} radius="md" />
        <Skeleton height={44} radius="md" />
      </Stack>
    </output>
  );
}

interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  readonly isBusy?: boolean;
  /** True: what is wrong is listed with its JSON pointers, for people who have written JSON. */
  readonly hasPointers?: boolean;
}

export function Failure({ error, onRetry, isBusy = false, hasPointers = false }: FailureProps) {
  const { title, detail } = errorWords(error);
  const flaws = hasPointers && error instanceof TidemarkError ? error.errors : [];
  // The message about a single flaw often says all of it.
  const isSaid = flaws.every((flaw) => detail.includes(flaw.pointer) && detail.includes(flaw.detail));
  return (
    <Alert color="red" title={title} role="alert">
      <Group justify="space-between">
        <Text size="sm" className="long">
          {detail}
        </Text>
        {onRetry !== undefined && (
          <Button size="compact-sm" variant="default" onClick={onRetry} loading={isBusy}>
            Try again
          </Button>
        )}
      </Group>
      {!isSaid && (
        <ul className="steps" aria-label="Flaws">
          {flaws.map((flaw) => (
            <li key={JSON.stringify(flaw)} className="long">
              <code>{flaw.pointer}</code>: {flaw.detail}
            </li>
          ))}
        </ul>
      )}
    </Alert>
  );
}
