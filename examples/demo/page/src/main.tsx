import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { readSession } from './demo-server.ts';
import { openSeats } from './devices.ts';

// Devices are opened once, outside of components: a device belongs to the app, not to a component.
const session = await readSession();
const seats = await openSeats(session);

// `/?devtools` shows what each device does; nobody else loads it.
if (new URLSearchParams(location.search).has('devtools')) {
  const { mountDevtools } = await import('@tidemark/devtools');
  const corners = ['bottom-left', 'bottom-right', 'top-right'] as const;
  for (const [index, { device, name }] of seats.entries()) {
    mountDevtools(device, { label: name, position: corners[index] ?? 'top-left' });
  }
}

const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App session={session} seats={seats} />
    </StrictMode>,
  );
}
