import { useEffect, useState } from 'react';

// What the page asks of the demo's own little server. An app of yours has nothing like it.

export interface Session {
  /** Another one at every start of the demo. */
  readonly instance: string;
  /** Where Tidemark is. */
  readonly url: string;
  readonly password: string;
  /** The password of `admin` in the console. */
  readonly adminPassword: string;
  /** A line for a terminal that changes rows of the database; null: a backend has the database. */
  readonly command: string | null;
}

export interface Level {
  readonly tidemark: number;
  readonly head: number;
}

/** A work order in the database. Postgres gives large numbers as text. */
export interface BackendOrder {
  readonly id: number | string;
  readonly technician: string;
  readonly title: string;
  readonly status: string;
  readonly priority: string;
  readonly notes: string;
  readonly hours: number;
}

export interface DemoState {
  readonly instance: string;
  /** `gone`: the whole demo has ended, and with it this page's web server. */
  readonly server: 'running' | 'killed' | 'starting' | 'gone';
  /** How far each device is, by client id. */
  readonly levels: Readonly<Record<string, Level>>;
  readonly orders: readonly BackendOrder[];
}

export interface PingResult {
  readonly client_id: string;
  readonly status: string;
  readonly reason: string | null;
}

export async function readSession(): Promise<Session> {
  const response = await fetch('/demo/session');
  return (await response.json()) as Session;
}

export const killServer = () => post('kill', {});
export const restartServer = () => post('restart', {});

export async function sendPing(user: string, message: string): Promise<readonly PingResult[]> {
  const { results } = (await post('ping', { user, message })) as { readonly results: readonly PingResult[] };
  return results;
}

async function post(path: string, body: object): Promise<unknown> {
  const response = await fetch(`/demo/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`/demo/${path} answered with the status ${response.status}`);
  return await response.json();
}

/**
 * Follows what the demo server sees: the process of Tidemark, the tidemarks of these devices, the backend's database. When
 * the demo was started anew, the page begins anew as well.
 */
export function useDemoState(instance: string, clientIds: readonly (string | null)[]): DemoState | null {
  const [state, setState] = useState<DemoState | null>(null);
  const query = clientIds
    .filter((id) => id !== null)
    .map((id) => `client=${encodeURIComponent(id)}`)
    .join('&');
  useEffect(() => {
    const events = new EventSource(`/demo/events?${query}`);
    events.onmessage = ({ data }) => {
      const next = JSON.parse(data) as DemoState;
      if (next.instance === instance) setState(next);
      else location.reload();
    };
    events.onerror = () => setState((last) => last && { ...last, server: 'gone' });
    return () => events.close();
  }, [instance, query]);
  return state;
}
