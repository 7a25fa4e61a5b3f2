import { Alert, Anchor, type ButtonProps } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { PingReport } from '@tidemark/protocol';
import { useState } from 'react';
import { Action } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { TextField } from '../components/fields.tsx';

interface PingUserProps {
  readonly login: string;
  readonly sources?: readonly string[];
  readonly button?: ButtonProps;
}

/** Sends a push message to all devices of a user, and says how many it goes to. */
export function PingUser({ login, sources = [], button = { variant: 'default' } }: PingUserProps) {
  const [message, setMessage] = useState('');
  const ping = {
    user_id: login,
    ...(sources.length === 0 ? {} : { sources }),
    ...(message === '' ? {} : { message }),
  };
  return (
    <Action
      label="Ping"
      title="Ping all devices of the user"
      verb="Send ping"
      button={button}
      call={(api) => api.users.ping(ping)}
      showAnswer={(answer) => <PingSent report={answer as PingReport} />}
    >
      <TextField
        label="Message"
        description="Without a message, devices sync in the background."
        value={message}
        onText={setMessage}
        data-autofocus
      />
    </Action>
  );
}

/** Why a device got no ping, in words. */
const SKIPPED: Readonly<Record<string, string>> = {
  no_device_type: 'not connected, without a push address',
  no_device_pin: 'not connected, without a push address',
  device_type_none: 'wants no pings',
};

/** Says where a ping went, and leads to its results. */
export function PingSent({ report: { ping_id, devices, skipped } }: { readonly report: PingReport }) {
  const reasons = [...new Set(skipped.map(({ reason }) => SKIPPED[reason] ?? reason.replaceAll('_', ' ')))];
  return (
    <Alert color="blue" title="Sent" role="status">
      To {counted(devices, 'device')}. Skipped: {skipped.length}
      {reasons.length > 0 && ` (${reasons.join(', ')})`}.{' '}
      <Anchor component={Link} to="/pings/$id" {...({ params: { id: ping_id } } as object)} size="sm">
        Results
      </Anchor>
    </Alert>
  );
}
