import { describe, expect, it } from 'vitest';
import {
  type Effect,
  EVENT_TYPES,
  type EventType,
  firstState,
  type MachineEvent,
  type MachineState,
  MODES,
  type Mode,
  next,
} from './machine.ts';

const FLAGS = [false, true] as const;

const eventsOf = (type: EventType): readonly MachineEvent[] => {
  if (type === 'pushed' || type === 'pulled') return FLAGS.map((more) => ({ type, more }));
  return type === 'failed' ? [null, 5_000].map((retryAfterMs) => ({ type, retryAfterMs })) : [{ type }];
};

const everyState: readonly MachineState[] = MODES.flatMap((mode) =>
  FLAGS.flatMap((isOnline) =>
    FLAGS.flatMap((wantsPush) =>
      FLAGS.flatMap((wantsPull) =>
        FLAGS.flatMap((isOrdered) =>
          ([null, 'push', 'pull'] as const).map((failing) => {
            const failures = failing === null ? 0 : 3;
            return { mode, isOnline, wantsPush, wantsPull, isOrdered, failures, failing };
          }),
        ),
      ),
    ),
  ),
);
const everyEvent = EVENT_TYPES.flatMap(eventsOf);
const everyCell = everyState.flatMap((state) => everyEvent.map((event) => ({ state, event, ...run(state, event) })));

function run(state: MachineState, event: MachineEvent) {
  const { state: after, effects } = next(state, event);
  return { after, effects };
}

const has = (effects: readonly Effect[], type: Effect['type']) => effects.some((effect) => effect.type === type);
const at = (mode: Mode, change: Partial<MachineState> = {}): MachineState => ({
  ...firstState('none', true).state,
  mode,
  ...change,
});

describe('the table', () => {
  it('[MACHINE-1] the table has a cell for every state and event, and each leads to a state', () => {
    expect(everyCell).toHaveLength(MODES.length * 48 * 16);
    for (const { after } of everyCell) expect(MODES).toContain(after.mode);
  });

  it('[MACHINE-2] work starts exactly when a working mode is entered, and one piece at a time', () => {
    for (const { state, event, after, effects } of everyCell) {
      const begun = effects.filter(({ type }) => type === 'push' || type === 'pull');
      expect(begun.length, JSON.stringify({ state, event })).toBeLessThanOrEqual(1);
      if (begun.length === 1) expect(after.mode).toBe(begun[0]?.type === 'push' ? 'pushing' : 'pulling');
      const isWorking = after.mode === 'pushing' || after.mode === 'pulling';
      const wasWorking = state.mode === 'pushing' || state.mode === 'pulling';
      if (isWorking && !wasWorking) expect(begun).toHaveLength(1);
      // Work under way ends by its result, or is cancelled.
      const isResult = event.type === 'pushed' || event.type === 'pulled' || event.type === 'failed';
      if (wasWorking && begun.length === 1 && !isResult) expect(has(effects, 'cancel_work')).toBe(true);
      if (wasWorking && !isWorking && !isResult) expect(has(effects, 'cancel_work')).toBe(true);
    }
  });

  it('[MACHINE-3] work that was under way or requested is kept until it is done', () => {
    for (const { state, event, after, effects } of everyCell) {
      const isEnd = ['signed_out', 'needs_sign_in', 'stopped'].includes(after.mode);
      if (isEnd) continue;
      const wanted = state.wantsPush || (state.mode === 'pushing' && event.type !== 'pushed');
      if (wanted) expect(after.wantsPush || after.mode === 'pushing', JSON.stringify({ state, event })).toBe(true);
      const pullWanted = state.wantsPull || (state.mode === 'pulling' && event.type !== 'pulled');
      if (pullWanted) expect(after.wantsPull || after.mode === 'pulling', JSON.stringify({ state, event })).toBe(true);
      if (has(effects, 'push')) expect(after.wantsPush).toBe(false);
    }
  });

  it('[MACHINE-4] no network is used while offline, signed out or stopped', () => {
    for (const { after, effects } of everyCell) {
      if (!['offline', 'signed_out', 'needs_sign_in', 'stopped'].includes(after.mode)) continue;
      for (const type of ['push', 'pull', 'listen', 'wait'] as const) expect(has(effects, type)).toBe(false);
    }
  });

  it('[MACHINE-4] the device listens for events exactly while it is online with a session', () => {
    const listens = (mode: Mode) => ['idle', 'pushing', 'pulling', 'backing_off'].includes(mode);
    for (const { state, event, after, effects } of everyCell) {
      const label = JSON.stringify({ state, event });
      if (!listens(state.mode) && listens(after.mode)) expect(has(effects, 'listen'), label).toBe(true);
      if (listens(state.mode) && !listens(after.mode)) expect(has(effects, 'stop_listening'), label).toBe(true);
    }
  });

  it('[MACHINE-5] the state stopped is final', () => {
    for (const { state, after, effects } of everyCell) {
      if (state.mode !== 'stopped') continue;
      expect([after, effects]).toEqual([state, []]);
    }
  });
});

describe('sequences of events', () => {
  it('[MACHINE-6] signing in pushes, then pulls, then becomes idle', () => {
    const first = firstState('kept', true);
    expect([first.state.mode, first.effects.map(({ type }) => type)]).toEqual(['pushing', ['listen', 'push']]);
    const second = next(first.state, { type: 'pushed', more: false });
    expect([second.state.mode, second.effects]).toEqual(['pulling', [{ type: 'pull' }]]);
    expect(next(second.state, { type: 'pulled', more: false }).state.mode).toBe('idle');
  });

  it('[MACHINE-6] pushes and pulls alternate while there is work for both', () => {
    const modes: Mode[] = [];
    let state = at('pushing');
    for (let turn = 0; turn < 6; turn++) {
      modes.push(state.mode);
      const type = state.mode === 'pushing' ? 'pushed' : 'pulled';
      state = next({ ...state, wantsPush: true }, { type, more: true }).state;
    }
    expect(modes).toEqual(['pushing', 'pulling', 'pushing', 'pulling', 'pushing', 'pulling']);
  });

  it('[MACHINE-7] failures are counted until something succeeds', () => {
    let { state, effects } = next(at('pulling'), { type: 'failed', retryAfterMs: null });
    expect(effects).toEqual([{ type: 'wait', failures: 1, retryAfterMs: null }]);
    ({ state } = next(state, { type: 'retry_due' }));
    ({ state, effects } = next(state, { type: 'failed', retryAfterMs: null }));
    expect(effects).toEqual([{ type: 'wait', failures: 2, retryAfterMs: null }]);
    ({ state } = next(state, { type: 'retry_due' }));
    expect(next(state, { type: 'pulled', more: false }).state).toEqual(at('idle'));
  });

  it('[MACHINE-7] a push that keeps failing prevents neither pulls nor growing pauses', () => {
    let { state } = next(at('pushing'), { type: 'failed', retryAfterMs: null });
    ({ state } = next(state, { type: 'retry_due' }));
    expect(state.mode).toBe('pulling');
    ({ state } = next(state, { type: 'pulled', more: false }));
    expect(state.mode).toBe('pushing');
    const { effects } = next(state, { type: 'failed', retryAfterMs: null });
    expect(effects).toEqual([{ type: 'wait', failures: 2, retryAfterMs: null }]);
  });

  it('[MACHINE-7] a pause can be cut short, but not one the server asked for', () => {
    const own = next(at('pulling'), { type: 'failed', retryAfterMs: null }).state;
    expect(next(own, { type: 'sync_wanted' }).effects.map(({ type }) => type)).toEqual(['cancel_wait', 'push']);
    const ordered = next(at('pulling'), { type: 'failed', retryAfterMs: 9_000 }).state;
    expect(next(ordered, { type: 'sync_wanted' })).toEqual({ state: { ...ordered, wantsPush: true }, effects: [] });
    expect(next(ordered, { type: 'retry_due' }).state.mode).toBe('pulling');
  });
});
