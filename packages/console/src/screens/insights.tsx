import { Alert, Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { findInsights, type Known } from './find-insights.ts';

/** The problems, each with its remedy and the way there. */
export function Insights({ known }: { readonly known: Known }) {
  return (
    <>
      {findInsights(known, Date.now()).map(({ title, remedy, to, search, at }) => (
        <Alert key={`${title} ${remedy}`} color="yellow" title={<span className="long">{title}</span>}>
          <Text size="sm" className="long">
            {remedy}{' '}
            <Anchor component={Link} size="sm" {...({ to, search } as { readonly to: string })}>
              Open {at}
            </Anchor>
          </Text>
        </Alert>
      ))}
    </>
  );
}
