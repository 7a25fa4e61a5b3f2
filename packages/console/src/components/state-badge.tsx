import { Badge } from '@mantine/core';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain';

const COLORS = { good: 'green', busy: 'blue', warn: 'yellow', bad: 'red', plain: 'gray' } as const;

export function StateBadge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <Badge color={COLORS[tone]} variant="light">
      {children}
    </Badge>
  );
}
