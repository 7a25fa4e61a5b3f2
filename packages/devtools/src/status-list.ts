import type { DeviceStatus } from '@tidemark/client';
import { element, setText } from './elements.ts';

type Tone = 'good' | 'bad' | '';
type Line = readonly [text: string, tone: Tone];

/** The members of the status, as an app developer reads them. */
const LINES: readonly (readonly [name: string, line: (status: DeviceStatus) => Line])[] = [
  ['State', ({ mode, error }) => [mode.replaceAll('_', ' '), error === null ? '' : 'bad']],
  ['User', ({ userId }) => [userId ?? 'nobody is signed in', '']],
  ['Device', ({ clientId }) => [clientId ?? 'none', '']],
  ['Network', ({ isOnline }) => (isOnline ? ['online', 'good'] : ['offline', 'bad'])],
  ['Events', ({ isLive }) => (isLive ? ['live', 'good'] : ['none; the device polls', ''])],
  ['Tab', ({ tab }) => [tab ?? 'not shared with other tabs', '']],
  ['Last complete sync', ({ lastSyncedAtMs }) => [timeOf(lastSyncedAtMs), '']],
  ['Next attempt', ({ retryAtMs }) => [retryAtMs === null ? 'none is waiting' : timeOf(retryAtMs), '']],
  ['Session ended', ({ sessionEnd }) => (sessionEnd === null ? ['no', ''] : [sessionEnd.reason, 'bad'])],
  ['Last error', ({ error }) => (error === null ? ['none', 'good'] : [`${error.code}: ${error.detail}`, 'bad'])],
];

export function timeOf(ms: number | null): string {
  return ms === null ? 'never' : new Date(ms).toLocaleTimeString();
}

export class StatusList {
  readonly element = element('dl', { 'aria-label': 'Status' });
  readonly #values = LINES.map(([name]) => {
    const value = element('dd');
    this.element.append(element('dt', {}, name), value);
    return value;
  });

  show(status: DeviceStatus): void {
    for (const [index, [, line]] of LINES.entries()) {
      const [text, tone] = line(status);
      const value = this.#values[index] as HTMLElement;
      setText(value, text);
      value.className = tone;
    }
  }
}
