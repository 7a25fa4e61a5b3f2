import { service } from './client.ts';
import { type Sample, samplesIn } from './samples.ts';

/** Reads what the server measures, which Prometheus reads, too. */
export async function readMetrics(): Promise<readonly Sample[]> {
  const request = { method: 'GET', path: '/metrics', repetition: 'harmless', accept: 'text/plain' } as const;
  const { text } = await service.text(request);
  return samplesIn(text);
}
