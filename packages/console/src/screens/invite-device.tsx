import { Alert, NativeSelect, Stack, Text } from '@mantine/core';
import type { Invite } from '@tidemark/protocol';
import { useState } from 'react';
import { Action } from '../components/action.tsx';
import { Command } from '../components/command.tsx';
import { Moment } from '../components/moment.tsx';
import { QrCode } from '../components/qr-code.tsx';

const LIFETIMES = [
  { value: '3600', label: 'an hour' },
  { value: '86400', label: 'a day' },
  { value: '604800', label: 'seven days' },
];

/** Makes a code with which one device of a user signs in without a password, and shows it once. */
export function InviteDevice({ login }: { readonly login: string }) {
  const [expiresInS, setExpiresInS] = useState('86400');
  return (
    <Action
      label="Invite a device"
      title="Invite a device"
      verb="Make invite"
      button={{ variant: 'default' }}
      call={(api) => api.users.invite(login, { expiresInS: Number(expiresInS) })}
      isOnce
      showAnswer={(answer) => <InviteCode invite={answer as Invite} />}
    >
      <Stack gap="md">
        <Text size="sm">
          One device signs in with the code, once and without a password. A new invite ends the one before.
        </Text>
        <NativeSelect
          label="Valid for"
          value={expiresInS}
          onChange={(event) => setExpiresInS(event.currentTarget.value)}
          data={LIFETIMES}
        />
      </Stack>
    </Action>
  );
}

function InviteCode({ invite: { code, link, expires_at } }: { readonly invite: Invite }) {
  return (
    <Alert color="green" title="Hand over the invite now: it is never shown again" role="status">
      <Stack gap="sm">
        <QrCode label="QR code of the invite" text={link ?? code} />
        {link !== null && <Command label="link" text={link} />}
        <Command label="code" text={code} />
        <Text size="sm">
          The invite ends <Moment at={expires_at} />.{' '}
          {link === null
            ? 'The QR code holds the code alone: for a link that opens the app, set public_url in the configuration.'
            : 'The QR code holds the link.'}
        </Text>
      </Stack>
    </Alert>
  );
}
