import { Alert, TextInput } from '@mantine/core';
import type { PingReport } from '@tidemark/protocol';
import { useState } from 'react';
import { Action } from '../components/action.tsx';

/** Sends a push message to all devices of a user, and says how many it goes to. */
export function PingUser({ login }: { readonly login: string }) {
  const [message, setMessage] = useState('');
  const [report, setReport] = useState<PingReport | null>(null);
  return (
    <Action
      label="Ping"
      title="Ping all devices of the user"
      verb="Send ping"
      button={{ variant: 'default' }}
      call={(api) => api.users.ping({ user_id: login, ...(message === '' ? {} : { message }) })}
      onDone={(answer) => {
        setReport(answer as PingReport);
        return true;
      }}
    >
      <TextInput
        label="Message"
        description="Without a message, devices sync in the background."
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
        data-autofocus
      />
      {report !== null && (
        <Alert color="blue" title="Sent" role="status">
          To {report.devices} {report.devices === 1 ? 'device' : 'devices'}. Skipped: {report.skipped.length}
          {report.skipped.length > 0 && ` (${[...new Set(report.skipped.map(({ reason }) => reason))].join(', ')})`}
        </Alert>
      )}
    </Action>
  );
}
