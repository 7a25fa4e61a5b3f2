import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import { Bars } from '../components/bars.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Section } from '../components/page.tsx';

const REFRESH_MS = 10_000;
const STEPS_SHOWN = 60;

/** How often something happened in the last hour, minute by minute. */
export function MetricChart({ metric, title }: { readonly metric: string; readonly title: string }) {
  const query = useQuery({
    queryKey: ['metric', metric],
    queryFn: async () => {
      const names = await client.system.metricNames(metric);
      return names.includes(metric) ? client.system.metric(metric, { start: -STEPS_SHOWN }) : [];
    },
    refetchInterval: REFRESH_MS,
  });
  return (
    <Section title={title}>
      <Loaded query={query}>{(steps) => <Bars metric={metric} steps={steps} title={title} />}</Loaded>
    </Section>
  );
}
