import { Button, Group, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { References } from '@tidemark/protocol';
import { useEffect, useMemo, useState } from 'react';
import { client } from '../api/client.ts';
import { type ListStart, type ListView, type ObjectOwner, type ObjectRow, showAgain } from '../api/object-pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { Failure } from '../components/loaded.tsx';
import { useAddress } from '../components/use-address.ts';
import { EditObject } from './edit-object.tsx';
import { FilterBar } from './filter-bar.tsx';
import { type Asked, filterOf, NOTHING_ASKED, pathOf } from './object-conditions.ts';
import { ObjectRows, SEQ_FIELD } from './object-rows.tsx';
import { JumpTo, ObjectTools } from './object-tools.tsx';
import { readAsked, readSorted, type Sorted, type ViewSearch, writeView } from './object-view.ts';
import { SavedNotice } from './saved-notice.tsx';
import { useCellEdits } from './use-cell-edits.ts';

interface ObjectTableProps {
  readonly owner: ObjectOwner;
  readonly references: References;
  readonly adding: string | undefined;
  /** The id of an object to open. */
  readonly opening: string | undefined;
}

/** Pages are loaded anew whenever a table is shown, and when it is reloaded. */
let generations = 0;

/** The objects of an owner, with what can be done to them. */
export function ObjectTable({ owner, references, adding, opening }: ObjectTableProps) {
  const list = useList();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [names, setNames] = useState<readonly string[]>([]);
  const [open, setOpen] = useState<ObjectRow | 'new' | null>(adding === undefined ? null : 'new');
  const cache = useQueryClient();
  const { edits, notice, undo, dismiss } = useCellEdits(owner);
  const isAdmin = useIsAdmin();
  const named = useOpening(owner, opening, setOpen);
  const reload = async () => {
    setSelected(new Set());
    list.reload();
  };
  const select = ({ id }: ObjectRow) =>
    setSelected((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]),
    );
  const onSaved = async (id: string) => (open === 'new' ? reload() : showAgain(cache, owner, id));
  return (
    <Stack gap="sm">
      <Group gap="sm" align="end" justify="space-between">
        <Group gap="sm" align="end">
          <FilterBar key={list.jumps} asked={list.asked} names={names} onAsk={list.ask} />
          <JumpTo onJump={list.jump} isMoved={list.start.from !== undefined} />
        </Group>
        <Group gap="xs" ml="auto">
          <Button size="xs" variant="default" onClick={reload}>
            Reload
          </Button>
          <ObjectTools owner={owner} selected={selected} onNew={() => setOpen('new')} onChanged={reload} />
        </Group>
      </Group>
      {named !== null && <Failure error={named} />}
      <ObjectRows
        owner={owner}
        references={references}
        listed={list.listed}
        sorted={list.sorted}
        selected={selected}
        onOpen={setOpen}
        onSelect={select}
        onSort={list.sort}
        onNames={setNames}
        edits={isAdmin ? edits : null}
      />
      {notice !== null && <SavedNotice notice={notice} onUndo={undo} onClose={dismiss} />}
      <EditObject
        key={open === null ? 'closed' : open === 'new' ? 'new' : open.id}
        owner={owner}
        object={open}
        newId={adding ?? ''}
        onClose={() => setOpen(null)}
        onSaved={onSaved}
      />
    </Stack>
  );
}

/** Which objects are listed, in which order, and from where on. Filter and order are part of the address. */
function useList() {
  const [{ text = '', filter = '', sort = '', order = '' }, change] = useAddress<ViewSearch>('/data');
  const [start, setStart] = useState<ListStart>({});
  const asked = useMemo(() => readAsked({ text, filter }), [text, filter]);
  const sorted = useMemo(() => readSorted({ sort, order }), [sort, order]);
  const [jumps, setJumps] = useState(0);
  const [generation, setGeneration] = useState(() => ++generations);
  const view = useMemo(() => viewOf(asked, sorted), [asked, sorted]);
  const listed = useMemo(() => ({ view, start, generation }), [view, start, generation]);
  const show = (next: { readonly asked: Asked; readonly sorted: Sorted | null; readonly start: ListStart }) => {
    change(writeView(next.asked, next.sorted));
    setStart(next.start);
  };
  return {
    ...{ start, asked, sorted, listed, jumps },
    ask: (next: Asked) => show({ asked: next, sorted, start: {} }),
    sort: (column: string) => show({ asked, sorted: nextSort(sorted, column), start: {} }),
    /** The list begins with the object only if nothing is left out or sorted. */
    jump: (next: ListStart) => {
      show({ asked: NOTHING_ASKED, sorted: null, start: next });
      setJumps((count) => count + 1);
    },
    reload: () => setGeneration(++generations),
  };
}

/** A column is sorted upwards, then downwards, then no more. */
function nextSort(sorted: Sorted | null, column: string): Sorted | null {
  if (sorted?.column !== column) return { column, direction: 'asc' };
  return sorted.direction === 'asc' ? { column, direction: 'desc' } : null;
}

function viewOf({ conditions, searched }: Asked, sorted: Sorted | null): ListView {
  const filter = filterOf(conditions, searched);
  const sort = sorted === null ? undefined : sorted.column === SEQ_FIELD ? '@seq' : pathOf(sorted.column);
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(sorted === null || sort === undefined ? {} : { sort, order: sorted.direction }),
  };
}

/** Opens the object that the address names. Returns why it cannot be opened. */
function useOpening(owner: ObjectOwner, id: string | undefined, onOpen: (row: ObjectRow) => void): unknown {
  const { data, error } = useQuery({
    queryKey: ['objects', owner, 'named', id],
    queryFn: () => client.documents.objects(owner, { from: id ?? '', limit: 1 }),
    enabled: id !== undefined,
  });
  const row = data?.objects[0];
  // biome-ignore lint/correctness/useExhaustiveDependencies: it opens once, when it is there
  useEffect(() => {
    if (row !== undefined) onOpen(row);
  }, [row?.id]);
  return error;
}
