import { Button } from '@mantine/core';
import { useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { LazySimulatedDevice } from './lazy-simulated-device.tsx';

/** Opens a simulated device of a user beside the screen. */
export function SimulateButton({ login }: { readonly login: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="sm" variant="default" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Simulate a device
      </Button>
      <Dialog title={`A device of ${login}`} isOpen={isOpen} onClose={() => setOpen(false)} size="xl">
        <LazySimulatedDevice login={login} />
      </Dialog>
    </>
  );
}
