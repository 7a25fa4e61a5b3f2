const TICK_MS = 5_000;

/**
 * Runs `work` and reports on it in one line: what is being done, the seconds so far every five seconds, and the time it
 * took. A person who waits for an installation sees that it is still running.
 */
export async function withProgress(say, what, work) {
  const startedMs = Date.now();
  const seconds = () => (Date.now() - startedMs) / 1_000;
  say(`tidemark: ${what} … `);
  const ticks = setInterval(() => say(`${Math.round(seconds())} s … `), TICK_MS);
  try {
    const result = await work();
    say(`done in ${seconds().toFixed(1)} s\n`);
    return result;
  } catch (error) {
    say('failed\n');
    throw error;
  } finally {
    clearInterval(ticks);
  }
}
