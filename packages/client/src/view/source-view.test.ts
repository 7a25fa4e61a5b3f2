import { expect, it } from 'vitest';
import { LocalState } from '../state/local-state.ts';
import { Pending } from './pending.ts';
import { SourceView } from './source-view.ts';

it('[SDK-2] a list that was read before stays sorted by id through creates, changes and deletes', () => {
  const state = new LocalState([]);
  const view = new SourceView(state, new Pending(), 'Order');
  const model = new Map<string, number>();
  for (let step = 0; step < 2_000; step++) {
    const ids = Array.from({ length: 1 + (step % 3) }, (_, index) => `o${(step * 7_919 + index * 31) % 97}`);
    const tx = state.begin();
    for (const id of new Set(ids)) {
      const isDeleted = model.has(id) && step % 4 === 0;
      if (isDeleted) model.delete(id);
      else model.set(id, step);
      if (isDeleted) tx.delete('objects', ['Order', id]);
      else tx.put('objects', ['Order', id], { n: step });
    }
    state.apply(tx.writes());
    view.update(new Set(ids));
    const sorted = [...model].sort(([left], [right]) => (left < right ? -1 : 1));
    expect(view.list().map(({ id, attributes }) => [id, attributes.n])).toEqual(sorted);
  }
});
