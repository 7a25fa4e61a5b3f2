import { useState } from 'react';
import { type DemoState, killServer, restartServer } from './demo-server.ts';
import { useTour } from './tour.tsx';

const STATE_TEXTS = {
  running: 'Server is running',
  killed: 'Server is dead',
  starting: 'Server is starting',
  gone: 'The demo has ended',
} as const;

/** Kills Tidemark with SIGKILL, and starts it again on the same data. */
export function ServerControl({ state }: { readonly state: DemoState['server'] }) {
  const [isBusy, setBusy] = useState(false);
  const { mark } = useTour();
  const act = async () => {
    setBusy(true);
    try {
      await (state === 'running' ? killServer() : restartServer());
      mark(state === 'running' ? 'kill' : 'restart');
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="server" aria-label="Server" data-state={state}>
      <span className="server-state" role="status">
        <span className="lamp" aria-hidden="true" />
        {STATE_TEXTS[state]}
      </span>
      <button
        type="button"
        className={state === 'running' ? 'danger' : 'primary'}
        disabled={isBusy || state === 'gone'}
        onClick={act}
      >
        {state === 'running' ? 'Kill the server' : 'Restart the server'}
      </button>
    </section>
  );
}
