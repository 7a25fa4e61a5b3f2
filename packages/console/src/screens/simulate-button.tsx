import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { Waiting } from '../components/loaded.tsx';

const SimulatedDevice = lazy(async () => {
  const { SimulatedDevice: component } = await import('./simulated-device.tsx');
  return { default: component };
});

/** Opens a simulated device of a user beside the screen. */
export function SimulateButton({ login }: { readonly login: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="sm" variant="default" onClick={() => setOpen(true)}>
        Simulate a device
      </Button>
      <Dialog title={`A device of ${login}`} isOpen={isOpen} onClose={() => setOpen(false)} size="xl">
        <Suspense fallback={<Waiting />}>
          <SimulatedDevice login={login} />
        </Suspense>
      </Dialog>
    </>
  );
}
