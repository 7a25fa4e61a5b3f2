const TICK_MS = 5_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/**
 * Calls the listener every few seconds while the page is visible, and as soon as it becomes visible again. All listeners
 * share one timer. Returns the unsubscribe function.
 */
export function onTick(listener: () => void): () => void {
  if (listeners.size === 0) document.addEventListener('visibilitychange', onVisibility);
  listeners.add(listener);
  startOrStop();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) document.removeEventListener('visibilitychange', onVisibility);
    startOrStop();
  };
}

function startOrStop(): void {
  const isNeeded = listeners.size > 0 && document.visibilityState === 'visible';
  if (isNeeded) timer ??= setInterval(tick, TICK_MS);
  else {
    clearInterval(timer);
    timer = undefined;
  }
}

function onVisibility(): void {
  startOrStop();
  if (timer !== undefined) tick();
}

function tick(): void {
  for (const listener of listeners) listener();
}
