import { useState } from 'react';
import { type PingResult, sendPing } from './demo-server.ts';
import { CREWS } from './types.ts';

/**
 * Pings a crew. The page asks the demo's server, which calls Tidemark as a backend would; Tidemark sends the ping over the
 * event stream that the crew's device holds open. There is no push service in this demo, so a device that is offline misses it.
 */
export function PingButton({ crew, title }: { readonly crew: string; readonly title: string }) {
  const [result, setResult] = useState('');
  const ping = async () => {
    setResult('Sending…');
    const results = await sendPing(crew, `Please look at “${title}”`).catch(() => null);
    setResult(resultText(results));
  };
  return (
    <div className="ping">
      <button type="button" onClick={ping}>{`Ping crew ${CREWS[crew] ?? crew}`}</button>
      <span role="status">{result}</span>
    </div>
  );
}

function resultText(results: readonly PingResult[] | null): string {
  if (results === null) return 'The server is down.';
  if (results.some(({ status }) => status === 'sent')) return 'Sent over the open connection.';
  return results[0]?.reason ?? 'This crew has no device here.';
}
