import '@mantine/core/styles.css';
import './console.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries, useSession, useSessionEnd } from './api/session.ts';
import { Failure } from './components/loaded.tsx';
import { router } from './router.tsx';
import { SignIn } from './screens/sign-in.tsx';

/** The screens for whoever is signed in, and the sign-in for everybody else. Both keep the address. */
function Console() {
  useSessionEnd();
  const { data, error, refetch } = useSession();
  if (data?.session) return <RouterProvider router={router} />;
  if (data !== undefined) return <SignIn />;
  if (error === null) return null;
  return (
    <div className="center">
      <Failure error={error} onRetry={() => void refetch()} />
    </div>
  );
}

// Dialogs and menus appear without motion for people who have asked their system for that.
const THEME = createTheme({ respectReducedMotion: true });

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no element for the console');
createRoot(root).render(
  <StrictMode>
    {/* The style sheet has all variables and classes: inline styles are forbidden by the content security policy. */}
    <MantineProvider theme={THEME} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <QueryClientProvider client={queries}>
        <Console />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
