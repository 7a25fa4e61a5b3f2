import { Button, Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface FirstRowsProps<T> {
  readonly rows: readonly T[];
  readonly shownMax: number;
  /** What the rows are, for the button that shows all. */
  readonly noun: string;
  readonly children: (rows: readonly T[]) => ReactNode;
}

/** Shows the first rows of a long list, and all of them on demand. */
export function FirstRows<T>({ rows, shownMax, noun, children }: FirstRowsProps<T>) {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      {children(isWhole ? rows : rows.slice(0, shownMax))}
      {!isWhole && rows.length > shownMax && (
        <Group>
          <Button size="compact-sm" variant="default" onClick={() => setWhole(true)}>
            Show all {rows.length.toLocaleString('en')} {noun}
          </Button>
        </Group>
      )}
    </>
  );
}
