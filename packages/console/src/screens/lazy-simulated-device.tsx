import { lazy, Suspense } from 'react';
import { Waiting } from '../components/loaded.tsx';
import type { SimulatedDeviceProps } from './simulated-device.tsx';

const SimulatedDevice = lazy(async () => {
  const { SimulatedDevice: component } = await import('./simulated-device.tsx');
  return { default: component };
});

/** A simulated device, whose code is loaded when somebody uses it. */
export function LazySimulatedDevice(props: SimulatedDeviceProps) {
  return (
    <Suspense fallback={<Waiting />}>
      <SimulatedDevice {...props} />
    </Suspense>
  );
}
