import { Anchor, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';

interface PageProps {
  readonly title: string;
  readonly about?: string;
  /** The list that this page belongs to. */
  readonly parent?: { readonly title: string; readonly to: string };
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of a screen. */
export function Page({ title, about, parent, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Tidemark`;
  }, [title]);
  return (
    <Stack gap="lg">
      <Stack gap={4}>
        {parent !== undefined && (
          <Anchor component={Link} to={parent.to} size="sm" className="long">
            {parent.title}
          </Anchor>
        )}
        <Group justify="space-between" align="center" gap="sm">
          <Title order={1} size="h2" className="long">
            {title}
          </Title>
          <Group gap="xs">{actions}</Group>
        </Group>
        {about !== undefined && (
          <Text c="dimmed" size="sm">
            {about}
          </Text>
        )}
      </Stack>
      {children}
    </Stack>
  );
}

type SectionProps = Pick<PageProps, 'actions' | 'children'> & { readonly title: ReactNode };

/** A block with a heading. */
export function Section({ title, actions, children }: SectionProps) {
  return (
    <section>
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h4" className="long">
            {title}
          </Title>
          <div className="fixed">{actions}</div>
        </Group>
        {children}
      </Stack>
    </section>
  );
}

/** A part of a block, with a heading of its own. */
export function Part({ title, children }: Pick<SectionProps, 'title' | 'children'>) {
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

interface FactsProps {
  readonly facts: readonly (readonly [name: string, value: ReactNode, note?: string])[];
  /** True: several facts stand side by side where there is room. */
  readonly isDense?: boolean;
}

/** Names with their values. */
export function Facts({ facts, isDense = false }: FactsProps) {
  return (
    <dl className={`card facts${isDense ? ' dense' : ''}`}>
      {facts.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
