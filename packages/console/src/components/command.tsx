import { Button, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useState } from 'react';

const SHOWN_MS = 1_500;

/** A command to copy. */
export function Command({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, setSaid] = useState<string | null>(null);
  const copy = async () => {
    setSaid(
      await copyText(text).then(
        () => 'Copied',
        () => 'Not allowed',
      ),
    );
    setTimeout(() => setSaid(null), SHOWN_MS);
  };
  return (
    <div className="command">
      <pre>{text}</pre>
      <Button size="compact-xs" variant="default" onClick={copy} aria-label={`Copy: ${label}`}>
        {said ?? 'Copy'}
      </Button>
    </div>
  );
}

/** Browsers give the clipboard to pages over HTTPS only; the old way works over plain HTTP as well. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

interface EmptyProps {
  readonly title: string;
  readonly children: ReactNode;
  /** The commands that fill the screen. */
  readonly curl?: string;
  readonly cli?: string;
  /** Buttons below the words. */
  readonly actions?: ReactNode;
}

/** Says why there is nothing to see, and how to change that. */
export function Empty({ title, children, curl, cli, actions }: EmptyProps) {
  return (
    <div className="card">
      <Stack gap="sm">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {children}
        </Text>
        {actions}
        {curl !== undefined && <Command label="curl" text={curl} />}
        {cli !== undefined && <Command label="command line" text={cli} />}
      </Stack>
    </div>
  );
}
