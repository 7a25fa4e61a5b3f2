import { describe, expect, it } from 'vitest';
import { EMPTY_STATE, type OracleState, oracleWrite } from './oracle-state.ts';
import type { ObjectsGiven, Write } from './write.ts';

const partition = { source: 'S', user: 'b' };

describe('the oracle', () => {
  it('merges pushed attributes and creates what is missing', () => {
    const state = after({ kind: 'push_objects', partition, objects: { x: { a: 1, b: null } } });
    const effect = oracleWrite(state, { kind: 'push_objects', partition, objects: { x: { b: '' }, y: { c: [] } } });
    expect(plain(effect.state)).toEqual({ x: { a: 1, b: '' }, y: { c: [] } });
    expect([effect.changed, effect.unchanged]).toEqual([2, 0]);
  });

  it('keeps the state where nothing changes, except for a fast_insert, which does not compare', () => {
    const objects = { x: { a: { k: 1, l: 2 } } };
    const state = after({ kind: 'push_objects', partition, objects });
    expect(oracleWrite(state, { kind: 'push_objects', partition, objects: { x: { a: { l: 2, k: 1 } } } }).state).toBe(
      state,
    );
    expect(oracleWrite(state, { kind: 'push_deletes', partition, ids: ['y'] }).state).toBe(state);
    expect(oracleWrite(state, { kind: 'fast_insert', partition, objects }).changed).toBe(1);
  });

  it('deletes an object that has no attributes left', () => {
    const state = after({ kind: 'push_objects', partition, objects: { x: {}, y: { a: 1 } } });
    expect(plain(state)).toEqual({ y: { a: 1 } });
    expect(plain(after({ kind: 'fast_delete', partition, data: { y: { a: 1 } } }, state))).toEqual({});
    expect(plain(after({ kind: 'fast_insert', partition, objects: { y: {} } }, state))).toEqual({ y: { a: 1 } });
    expect(plain(after({ kind: 'replace', partition, objects: { y: {} }, query: null }, state))).toEqual({});
  });

  it('removes only attributes with equal values, then sets the new ones', () => {
    const state = after({ kind: 'push_objects', partition, objects: { x: { a: 1, b: 2 } } });
    const deleteData = { x: { a: 1, b: 3 } };
    const written = after({ kind: 'fast_update', partition, deleteData, data: { x: { c: 4 } } }, state);
    expect(plain(written)).toEqual({ x: { b: 2, c: 4 } });
  });

  it('does not let a refresh undo what changed after its query began', () => {
    const begun = after({ kind: 'push_objects', partition, objects: { x: { a: 1 }, y: { a: 1 }, z: { a: 1 } } });
    const pushed = after({ kind: 'push_objects', partition, objects: { x: { a: 2 } } }, begun);
    const deleted = after({ kind: 'push_deletes', partition, ids: ['y'] }, pushed);
    const query = { since: null, time: begun.time };
    const objects = { x: { a: 1 }, y: { a: 1 }, n: { a: 1 } };
    expect(plain(after({ kind: 'replace', partition, objects, query }, deleted))).toEqual({ x: { a: 2 }, n: { a: 1 } });
  });
});

function after(write: Write, state: OracleState = EMPTY_STATE): OracleState {
  return oracleWrite(state, write).state;
}

function plain({ objects }: OracleState): ObjectsGiven {
  const attributes = (object: ReadonlyMap<string, string>) =>
    [...object].map(([name, text]) => [name, JSON.parse(text)]);
  return Object.fromEntries([...objects].map(([id, object]) => [id, Object.fromEntries(attributes(object))]));
}
