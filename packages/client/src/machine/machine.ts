/**
 * The state machine of a device, as a table with a cell for every state and every event. It is pure: the engine runs the
 * effects and reports their results as further events.
 *
 * ```
 * signed_out ──signed_in──▶ idle ⇄ pushing ⇄ pulling      signed_out, closed: from everywhere
 *     ▲                      ▲        │         │         went_offline: every working mode → offline
 * needs_sign_in ◀─session_ended───────┴────┬────┘
 *                            └─retry_due─ backing_off ◀─failed
 * ```
 */
export const MODES = [
  'signed_out',
  'needs_sign_in',
  'offline',
  'idle',
  'pushing',
  'pulling',
  'backing_off',
  'stopped',
] as const;
export type Mode = (typeof MODES)[number];

export interface MachineState {
  readonly mode: Mode;
  /** True if the platform and the app allow the device to use the network. */
  readonly isOnline: boolean;
  readonly wantsPush: boolean;
  readonly wantsPull: boolean;
  /** Consecutive failures. */
  readonly failures: number;
  /** The work that failed last and has not succeeded since. */
  readonly failing: 'push' | 'pull' | null;
  /** True if the server asked for the pause: then it must not be shortened. */
  readonly isOrdered: boolean;
}

export const EVENT_TYPES = [
  'signed_in',
  'signed_out',
  'session_ended',
  'went_online',
  'went_offline',
  'push_wanted',
  'pull_wanted',
  'sync_wanted',
  'pushed',
  'pulled',
  'failed',
  'retry_due',
  'closed',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export type MachineEvent =
  | { readonly type: Exclude<EventType, 'pushed' | 'pulled' | 'failed'> }
  /** A push or pull has succeeded; with `more` another one must follow. */
  | { readonly type: 'pushed' | 'pulled'; readonly more: boolean }
  | { readonly type: 'failed'; readonly retryAfterMs: number | null };

export type Effect =
  | { readonly type: 'push' }
  | { readonly type: 'pull' }
  | { readonly type: 'wait'; readonly failures: number; readonly retryAfterMs: number | null }
  | { readonly type: 'cancel_wait' }
  /** Aborts the push or pull under way without a result. */
  | { readonly type: 'cancel_work' }
  | { readonly type: 'listen' }
  | { readonly type: 'stop_listening' };

export interface Transition {
  readonly state: MachineState;
  readonly effects: readonly Effect[];
}

type Cell = (state: MachineState, event: MachineEvent) => Transition;

/** The initial state, from the stored session. */
export function firstState(session: 'none' | 'ended' | 'kept', isOnline: boolean): Transition {
  const state: MachineState = {
    mode: session === 'ended' ? 'needs_sign_in' : 'signed_out',
    isOnline,
    wantsPush: false,
    wantsPull: false,
    failures: 0,
    failing: null,
    isOrdered: false,
  };
  return session === 'kept' ? signedIn(state) : { state, effects: [] };
}

/** True while somebody is signed in and there is a network: then the device listens to events. */
export function isConnected(mode: Mode): boolean {
  return mode === 'idle' || mode === 'pushing' || mode === 'pulling' || mode === 'backing_off';
}

export function next(state: MachineState, event: MachineEvent): Transition {
  return TABLE[state.mode][event.type](state, event);
}

// Actions

const stay: Cell = (state) => ({ state, effects: [] });
const noteOnline: Cell = (state) => stayWith(state, { isOnline: true });
const noteOffline: Cell = (state) => stayWith(state, { isOnline: false });
const notePush: Cell = (state) => stayWith(state, { wantsPush: true });
const notePull: Cell = (state) => stayWith(state, { wantsPull: true });
const noteBoth: Cell = (state) => stayWith(state, { wantsPush: true, wantsPull: true });
const pushOn: Cell = (state) => startNext({ ...state, wantsPush: true });
const pullOn: Cell = (state) => startNext({ ...state, wantsPull: true });
const bothOn: Cell = (state) => startNext({ ...state, wantsPush: true, wantsPull: true });

/** A new session: waiting uploads may be sent, and everything is pulled. */
const signedIn = (state: MachineState): Transition => {
  const eager = { ...succeeded(state, state.failing), wantsPush: true, wantsPull: true, isOrdered: false };
  return eager.isOnline ? listening(startNext(eager)) : enter(eager, 'offline');
};

/** The session was replaced during work, so the work of the old session is cancelled. */
const signedInAgain: Cell = (state) => {
  const { state: after, effects } = signedIn(state);
  return {
    state: after,
    effects: [{ type: 'cancel_work' }, { type: 'cancel_wait' }, { type: 'stop_listening' }, ...effects],
  };
};

const backOnline: Cell = (state) =>
  listening(startNext({ ...state, isOnline: true, wantsPush: true, wantsPull: true }));

const switchTo =
  (mode: Mode): Cell =>
  (state) => ({
    state: { ...succeeded(state, state.failing), mode, isOrdered: false },
    effects: [{ type: 'cancel_work' }, { type: 'cancel_wait' }, { type: 'stop_listening' }],
  });

const goOffline: Cell = (state, event) => switchTo('offline')({ ...requeue(state), isOnline: false }, event);

/**
 * After a push the device pulls, which brings the applied changes. Pushes and pulls alternate, so that an app that
 * never stops writing still receives changes of others.
 */
const afterPush: Cell = (state, event) => {
  const more = event.type === 'pushed' && event.more;
  return pulling({ ...succeeded(state, 'push'), wantsPush: state.wantsPush || more });
};

const afterPull: Cell = (state, event) => {
  const more = event.type === 'pulled' && event.more;
  return startNext({ ...succeeded(state, 'pull'), wantsPull: state.wantsPull || more });
};

/** A failed push may have been applied: a pull then brings its outcome. */
const backOff: Cell = (state, event) => {
  const retryAfterMs = event.type === 'failed' ? event.retryAfterMs : null;
  const failures = state.failures + 1;
  const failing = state.mode === 'pushing' ? 'push' : 'pull';
  const isOrdered = retryAfterMs !== null;
  return {
    state: { ...requeue(state), mode: 'backing_off', wantsPull: true, failures, failing, isOrdered },
    effects: [{ type: 'wait', failures, retryAfterMs }],
  };
};

/** Ends the pause early, unless the server asked for it. */
const endPause: Cell = (state) => {
  const eager = { ...state, wantsPush: true, wantsPull: true };
  if (state.isOrdered) return { state: eager, effects: [] };
  const { state: after, effects } = again(eager);
  return { state: after, effects: [{ type: 'cancel_wait' }, ...effects] };
};

const retry: Cell = (state) => again({ ...state, isOrdered: false });

/** Failing uploads must not keep the device from pulling. */
function again(state: MachineState): Transition {
  return state.failing === 'push' ? pulling(state) : startNext(state);
}

/** Resets the failures only if the work that failed has succeeded. */
function succeeded(state: MachineState, what: MachineState['failing']): MachineState {
  return state.failing === what ? { ...state, failures: 0, failing: null } : state;
}

/** Starts the next work: uploads first, since no other device has them. */
function startNext(state: MachineState): Transition {
  if (state.wantsPush) {
    return { state: { ...state, mode: 'pushing', wantsPush: false }, effects: [{ type: 'push' }] };
  }
  return state.wantsPull ? pulling(state) : enter(state, 'idle');
}

function pulling(state: MachineState): Transition {
  return { state: { ...state, mode: 'pulling', wantsPull: false }, effects: [{ type: 'pull' }] };
}

/** Marks the work under way to be done again. */
function requeue(state: MachineState): MachineState {
  const { mode, wantsPush, wantsPull } = state;
  return { ...state, wantsPush: wantsPush || mode === 'pushing', wantsPull: wantsPull || mode === 'pulling' };
}

function listening({ state, effects }: Transition): Transition {
  return { state, effects: [{ type: 'listen' }, ...effects] };
}

function enter(state: MachineState, mode: Mode): Transition {
  return { state: { ...state, mode }, effects: [] };
}

function stayWith(state: MachineState, change: Partial<MachineState>): Transition {
  return { state: { ...state, ...change }, effects: [] };
}

// The table

/** Results of work that is no longer under way are ignored. */
const LATE_RESULTS = { pushed: stay, pulled: stay, failed: stay, retry_due: stay } as const;
const END = { signed_out: switchTo('signed_out'), closed: switchTo('stopped') } as const;

/** Nobody is signed in: requests are ignored, and the state of the network is stored for later. */
const WITHOUT_SESSION = {
  ...LATE_RESULTS,
  ...END,
  signed_in: signedIn,
  session_ended: stay,
  went_online: noteOnline,
  went_offline: noteOffline,
  push_wanted: stay,
  pull_wanted: stay,
  sync_wanted: stay,
} as const satisfies Record<EventType, Cell>;

/** At work: further requests are stored until the work is done. */
const AT_WORK = {
  ...LATE_RESULTS,
  ...END,
  signed_in: signedInAgain,
  session_ended: switchTo('needs_sign_in'),
  went_online: noteOnline,
  went_offline: goOffline,
  push_wanted: notePush,
  pull_wanted: notePull,
  sync_wanted: noteBoth,
} as const satisfies Record<EventType, Cell>;

const TABLE: Readonly<Record<Mode, Readonly<Record<EventType, Cell>>>> = {
  signed_out: WITHOUT_SESSION,
  needs_sign_in: WITHOUT_SESSION,
  offline: { ...AT_WORK, signed_in: signedIn, went_online: backOnline, went_offline: stay },
  idle: { ...AT_WORK, push_wanted: pushOn, pull_wanted: pullOn, sync_wanted: bothOn },
  pushing: { ...AT_WORK, pushed: afterPush, failed: backOff },
  pulling: { ...AT_WORK, pulled: afterPull, failed: backOff },
  backing_off: { ...AT_WORK, sync_wanted: endPause, went_online: endPause, retry_due: retry },
  stopped: {
    ...WITHOUT_SESSION,
    signed_in: stay,
    signed_out: stay,
    went_online: stay,
    went_offline: stay,
    closed: stay,
  },
};
