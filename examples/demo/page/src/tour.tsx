import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react';
import type { DemoState } from './demo-server.ts';
import type { Seat } from './devices.ts';
import type { WorkOrder } from './types.ts';

const STEPS = [
  ['offline', 'Switch Crew North offline'],
  ['edit', 'Change the notes of an order there'],
  ['photo', 'Add a photo to the order there'],
  ['conflict', 'Change the same notes as Dispatch, and switch Crew North on'],
  ['resolve', 'Resolve the conflict'],
  ['ping', 'Ping a crew from an order of Dispatch'],
  ['kill', 'Kill the server, and go on working'],
  ['restart', 'Restart it, and watch all agree'],
] as const;
type Step = (typeof STEPS)[number][0];

const CREW_NOTES = ['Seal replaced, pump runs again.', 'Waiting for a new bearing.'];
const OFFICE_NOTES = ['Customer is in after 2 pm.', 'Call before you come.'];

const KEY = 'tidemark-demo-tour';

interface TourState {
  readonly done: ReadonlySet<Step>;
  readonly mark: (step: Step) => void;
}

const TourContext = createContext<TourState>({ done: new Set(), mark: () => undefined });

export const useTour = () => useContext(TourContext);

/** Remembers what the visitor has tried, also across a reload. */
export function TourProvider({ children }: { readonly children: ReactNode }) {
  const [done, setDone] = useState<ReadonlySet<Step>>(
    () => new Set(JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Step[]),
  );
  const mark = useCallback((step: Step) => {
    setDone((before) => {
      if (before.has(step)) return before;
      const after = new Set([...before, step]);
      sessionStorage.setItem(KEY, JSON.stringify([...after]));
      return after;
    });
  }, []);
  const state = useMemo(() => ({ done, mark }), [done, mark]);
  return <TourContext.Provider value={state}>{children}</TourContext.Provider>;
}

interface TourProps {
  readonly seats: readonly Seat[];
  readonly server: DemoState['server'];
  readonly onOrder: (id: string) => void;
}

/** What to try, and what was tried already. */
export function Tour({ seats, server, onOrder }: TourProps) {
  const { done, mark } = useTour();
  const next = STEPS.find(([step]) => !done.has(step))?.[0];
  const provoke = async () => {
    const id = await provokeConflict(seats);
    if (id === null) return;
    mark('offline');
    mark('edit');
    onOrder(id);
  };
  return (
    <section className="tour" aria-label="Try this">
      <ol>
        {STEPS.map(([step, text], index) => (
          <li key={step} data-number={index + 1} data-done={done.has(step)} data-next={step === next}>
            {text}
          </li>
        ))}
      </ol>
      <button type="button" className="quiet" disabled={server !== 'running'} onClick={provoke}>
        Prepare a conflict for me
      </button>
    </section>
  );
}

/** Does the first steps: an offline crew and the dispatcher write different notes on the same order. */
async function provokeConflict(seats: readonly Seat[]): Promise<string | null> {
  const [dispatcher, crew] = seats;
  const orders = crew?.device.source<WorkOrder>('WorkOrder');
  const order = orders?.list().find(({ attributes }) => attributes.status !== 'done');
  if (dispatcher === undefined || crew === undefined || orders === undefined || order === undefined) return null;
  crew.network.set(false);
  dispatcher.network.set(true);
  const { notes } = order.attributes;
  await orders.update(order.id, { notes: newText(CREW_NOTES, notes) });
  await dispatcher.device.source<WorkOrder>('WorkOrder').update(order.id, { notes: newText(OFFICE_NOTES, notes) });
  return order.id;
}

/** A text that is there already would be no change, and so no conflict. */
function newText(texts: readonly string[], before: string): string {
  return texts.find((text) => !before.includes(text)) ?? `${before} again`.trim();
}
