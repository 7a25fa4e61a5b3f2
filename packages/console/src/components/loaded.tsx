import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { errorWords } from '../api/session.ts';

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
}

/** Shows the data of a query once it is there, and what is wrong when it is not. */
export function Loaded<T>({ query, children }: LoadedProps<T>) {
  const { data, error, refetch, isFetching } = query;
  const failure = error === null ? null : <Failure error={error} onRetry={() => void refetch()} isBusy={isFetching} />;
  if (data !== undefined) {
    return (
      <Stack gap="md">
        {failure}
        {children(data)}
      </Stack>
    );
  }
  return failure ?? <Waiting />;
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
}

export function Failure({ error, onRetry, isBusy = false }: FailureProps) {
  const { title, detail } = errorWords(error);
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
    </Alert>
  );
}
