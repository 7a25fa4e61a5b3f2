import { createHook, executionAsyncResource } from 'node:async_hooks';
import { register } from 'node:module';

const QUIET_MS = 200;
const QUIET_TRIES_MAX = 50;

/**
 * Marks what timers run that were started while nothing was recorded, and all that follows from it: leases of jobs, flushes
 * of statistics, heartbeats. It happens beside a way, and is no part of it.
 */
const background = Symbol('background');

/** How many functions were entered that are not in the background, recorded or not. */
let count = 0;
/** What was entered since the recording began; null while nothing is recorded. */
let entered = null;

/** From now on, modules of the checkout are instrumented when they are loaded. Those of other threads find nobody to tell. */
export function instrumentModules(checkout) {
  createHook({ init: markBackground }).enable();
  globalThis.tidemarkEntered = (name) => {
    if (executionAsyncResource()[background]) return;
    count++;
    entered?.push(name);
  };
  register('./hooks.mjs', import.meta.url, { data: { checkout } });
}

function markBackground(_id, type, _trigger, resource) {
  const isLoose = type === 'Timeout' && entered === null;
  if (isLoose || executionAsyncResource()[background]) resource[background] = true;
}

/** Begins once what was done before has no more effects. */
export async function startRecording() {
  await untilIdle();
  entered = [];
}

/** Ends the recording and returns the names of the functions that were entered, in order. */
export function stopRecording() {
  const names = entered;
  entered = null;
  return names;
}

/** Resolves once no function has been entered for a moment. A server that is never idle is waited for only so long. */
export async function untilIdle() {
  for (let tries = 0, known = -1; tries < QUIET_TRIES_MAX && known !== count; tries++) {
    known = count;
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  }
}
