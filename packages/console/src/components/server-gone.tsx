import { Alert, Button, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { readiness, server } from '../api/client.ts';
import type { ServerState } from '../api/server-state.ts';
import { Moment } from './moment.tsx';

const ASK_EVERY_MS = 5_000;

export function useServerState(): ServerState {
  return useSyncExternalStore(server.subscribe, () => server.state);
}

/** Says once, for all screens, that the server does not answer. When it is back, everything shown is read again. */
export function ServerGone() {
  const { isGone, answeredAtMs } = useServerState();
  const queries = useQueryClient();
  const wasGone = useRef(false);
  const [isAsking, setAsking] = useState(false);
  const ask = () => {
    setAsking(true);
    readiness()
      .catch(() => undefined)
      .finally(() => setAsking(false));
  };
  useEffect(() => {
    if (wasGone.current && !isGone) void queries.invalidateQueries();
    wasGone.current = isGone;
    if (!isGone) return;
    const timer = setInterval(() => void readiness().catch(() => undefined), ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isGone, queries]);
  if (!isGone) return null;
  return (
    <Alert color="red" title="The server does not answer" role="alert" className="gone">
      <Group justify="space-between">
        <Text size="sm">
          {answeredAtMs === null ? (
            'It has not answered yet. '
          ) : (
            <>
              It answered last at {new Date(answeredAtMs).toLocaleTimeString()},{' '}
              <Moment at={new Date(answeredAtMs).toISOString()} />. What you see is from then.{' '}
            </>
          )}
          The console goes on trying.
        </Text>
        <Button size="compact-sm" variant="default" onClick={ask} loading={isAsking}>
          Try now
        </Button>
      </Group>
    </Alert>
  );
}
