import { lazy, Suspense } from 'react';
import { Waiting } from '../components/loaded.tsx';

const SimulatedDevice = lazy(async () => {
  const { SimulatedDevice: component } = await import('./simulated-device.tsx');
  return { default: component };
});

/** A simulated device, whose code is loaded when somebody uses it. */
export function LazySimulatedDevice({ login }: { readonly login: string }) {
  return (
    <Suspense fallback={<Waiting />}>
      <SimulatedDevice login={login} />
    </Suspense>
  );
}
