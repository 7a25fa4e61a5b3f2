import type { RouteComponent } from '@tanstack/react-router';
import { TidemarkError } from '@tidemark/backend';
import { useEffect, useState } from 'react';
import { Failure, Waiting } from './loaded.tsx';

type Load = () => Promise<RouteComponent>;

const loaded = new Map<Load, RouteComponent>();

/** Returns a screen whose code is loaded when it is first opened. */
export function lazyScreen(load: Load): RouteComponent {
  return LazyScreen.bind(null, { load });
}

function LazyScreen({ load }: { readonly load: Load }) {
  const [Screen, setScreen] = useState<RouteComponent | null>(() => loaded.get(load) ?? null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    load().then(
      (screen) => {
        loaded.set(load, screen);
        setScreen(() => screen);
      },
      () => setError(new TidemarkError('unreachable', 'the code of the screen could not be loaded')),
    );
  }, [load]);
  if (Screen !== null) return <Screen />;
  return error === null ? <Waiting /> : <Failure error={error} onRetry={reloadWhenReachable} />;
}

/** Browsers may remember that code could not be loaded. A new page forgets it, and the address stays. */
function reloadWhenReachable(): void {
  fetch('/healthz').then(
    () => window.location.reload(),
    () => undefined,
  );
}
