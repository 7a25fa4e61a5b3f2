import { Button, Group, NativeSelect, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { StatStep } from '@tidemark/protocol';
import { Fragment, useDeferredValue, useState } from 'react';
import { client } from '../api/client.ts';
import { Bars } from '../components/bars.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page, Section } from '../components/page.tsx';
import { saveFile } from '../components/save-file.ts';

const CHARTS_MAX = 12;
const RANGES = [
  ['1', 'the last hour'],
  ['24', 'the last 24 hours'],
  ['168', 'the last 7 days'],
] as const;

/** Everything the server measures, by pattern and range. Both are part of the address. */
export function Stats() {
  const search = useSearch({ strict: false }) as {
    readonly pattern?: string;
    readonly hours?: string;
    readonly compare?: string;
  };
  const navigate = useNavigate();
  const [typed, setTyped] = useState(search.pattern ?? 'http:*');
  const pattern = useDeferredValue(typed === '' ? '*' : typed);
  const hours = Number(search.hours ?? '1');
  const isCompared = search.compare === 'yes';
  const names = useQuery({ queryKey: ['metrics', pattern], queryFn: () => client.system.metricNames(pattern) });
  const show = (changes: object) =>
    void navigate({
      to: '/stats',
      search: { ...search, pattern: typed, hours: String(hours), ...changes } as never,
      replace: true,
    });
  return (
    <Page title="Stats" about="What the server has measured, minute by minute.">
      <Group gap="sm" align="end">
        <TextField
          label="Names that match"
          description="* stands for anything."
          value={typed}
          onText={(text) => {
            setTyped(text);
            show({ pattern: text });
          }}
          w={320}
        />
        <NativeSelect
          label="Range"
          value={String(hours)}
          onChange={(event) => show({ hours: event.currentTarget.value })}
          data={RANGES.map(([value, label]) => ({ value, label }))}
        />
        <Switch
          label="Compare with the range before"
          checked={isCompared}
          onChange={(event) => show({ compare: event.currentTarget.checked ? 'yes' : undefined })}
          pb={8}
        />
      </Group>
      <Loaded query={names}>
        {(found) => (
          <>
            <Text size="sm" c="dimmed">
              {found.length.toLocaleString('en')} names match
              {found.length > CHARTS_MAX && `; the first ${CHARTS_MAX} are shown`}.
            </Text>
            <div className="columns">
              {found.slice(0, CHARTS_MAX).map((name) => (
                <Metric key={`${name} ${hours}`} name={name} hours={hours} isCompared={isCompared} />
              ))}
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface MetricProps {
  readonly name: string;
  readonly hours: number;
  readonly isCompared: boolean;
}

function Metric({ name, hours, isCompared }: MetricProps) {
  const minutes = hours * 60 * (isCompared ? 2 : 1);
  const query = useQuery({
    queryKey: ['metric', name, minutes],
    queryFn: () => client.system.metric(name, { start: -minutes }),
  });
  const csv = query.data !== undefined && (
    <Button
      size="compact-xs"
      variant="default"
      onClick={() => saveFile(`${name}.csv`, 'text/csv', csvOf(query.data))}
      aria-label={`Save ${name} as CSV`}
    >
      CSV
    </Button>
  );
  return (
    <Section title={<Breakable text={name} />} actions={csv}>
      <Loaded query={query}>
        {(steps) => <Bars steps={steps} title={name} hours={hours} isCompared={isCompared} />}
      </Loaded>
    </Section>
  );
}

/** A long name that breaks after its separators, and not within `/:`. */
function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=\/|[^/]:)/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name have no other identity
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function csvOf(steps: readonly StatStep[]): readonly string[] {
  const lines = steps.map(({ at, count, sum, min, max }) =>
    [new Date(at * 1_000).toISOString(), count, sum, min, max].join(','),
  );
  return [`time,count,sum,min,max\n${lines.join('\n')}\n`];
}
