import { Group, NativeSelect, Text } from '@mantine/core';
import { type ReactNode, useDeferredValue } from 'react';
import { countWords } from '../api/scanned-pages.ts';
import { useScannedPages } from '../api/use-scanned-pages.ts';
import { Empty } from './command.tsx';
import { TextField } from './fields.tsx';
import { Loaded } from './loaded.tsx';
import { PagesButton } from './pages-button.tsx';
import { useAddress } from './use-address.ts';

interface ScannedPage {
  readonly total: number;
  readonly examined: number;
  readonly next: string | null;
}

/** What a list can be narrowed down to, by its word in the address. The first is shown unless the address says otherwise. */
export type Choices<Filter> = Readonly<Record<string, { readonly title: string; readonly filter: Filter }>>;

interface SearchedListProps<Filter, Page extends ScannedPage, Row> {
  /** The address of the screen, which is also the name of its queries. */
  readonly to: string;
  /** One of what is listed, such as `device`. */
  readonly one: string;
  /** What a text is searched in. */
  readonly placeholder: string;
  readonly choices: Choices<Filter>;
  readonly read: (
    filter: Filter & { readonly text?: string },
    page: { readonly after?: string; readonly limit: number; readonly signal: AbortSignal },
  ) => Promise<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
  /** What is shown while there is none at all. */
  readonly empty: ReactNode;
  /** Fields of this list alone, and what they filter by. */
  readonly others?: { readonly fields: ReactNode; readonly filter: Partial<Filter> };
  readonly children: (rows: readonly Row[]) => ReactNode;
}

/** A list that is searched on the server and read page by page. What is searched for is part of the address. */
export function SearchedList<Filter extends object, Page extends ScannedPage, Row>({
  to,
  one,
  placeholder,
  choices,
  read,
  rowsOf,
  empty,
  others,
  children,
}: SearchedListProps<Filter, Page, Row>) {
  const [search, change] = useAddress<{ readonly text?: string; readonly show?: string }>(to);
  const typed = search.text ?? '';
  const text = useDeferredValue(typed.trim());
  const [first = ''] = Object.keys(choices);
  const shown = Object.hasOwn(choices, search.show ?? '') ? (search.show ?? first) : first;
  const wanted = { ...(text === '' ? {} : { text }), ...others?.filter };
  const filter = { ...choices[shown]?.filter, ...wanted } as Filter & { readonly text?: string };
  const isFiltered = shown !== first || Object.keys(wanted).length > 0;
  // What is shown first may be a part of all there is.
  const isPart = Object.keys(filter).length > 0;
  const query = useScannedPages({
    queryKey: [to, 'list', filter],
    read: (page) => read(filter, page),
    rowsOf,
  });
  return (
    <>
      <Group gap="sm" align="end">
        <TextField
          label="Find"
          placeholder={placeholder}
          value={typed}
          onText={(value) => change({ text: value })}
          w={280}
          type="search"
        />
        <NativeSelect
          label="Show"
          value={shown}
          onChange={({ currentTarget: { value } }) => change({ show: value === first ? '' : value })}
          data={Object.entries(choices).map(([value, { title }]) => ({ value, label: title }))}
        />
        {others?.fields}
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.rows);
          if (rows.length === 0 && pages.at(-1)?.next === null) {
            return isFiltered ? <Empty title={`No such ${one}`}>No {one} is what you look for.</Empty> : empty;
          }
          return (
            <>
              <Text size="sm" c="dimmed" role="status">
                {countWords(pages, one, isPart)}
              </Text>
              {rows.length > 0 && children(rows)}
            </>
          );
        }}
      </Loaded>
      <PagesButton query={query}>{isPart ? 'Look on' : `More ${one}s`}</PagesButton>
    </>
  );
}
