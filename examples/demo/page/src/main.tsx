import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { readSession } from './demo-server.ts';
import { openSeats } from './devices.ts';

// Devices are opened once, outside of components: a device belongs to the app, not to a component.
const session = await readSession();
const seats = await openSeats(session);

const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App session={session} seats={seats} />
    </StrictMode>,
  );
}
