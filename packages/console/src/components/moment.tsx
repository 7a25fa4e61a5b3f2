import { useSyncExternalStore } from 'react';
import { UNITS } from './duration.ts';
import { onTick } from './page-clock.ts';

export { durationOf } from './duration.ts';

const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const NO_BREAK_SPACE = '\u00a0';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** A moment as people say it, such as "5 minutes ago", with the exact time on hover. Its words advance by themselves. */
export function Moment({ at }: { readonly at: string | null }) {
  return at === null ? <span>never</span> : <Age at={at} />;
}

function Age({ at }: { readonly at: string }) {
  const ms = Date.parse(at);
  // The words are the snapshot, so a tick renders only the elements whose words have changed.
  const words = useSyncExternalStore(onTick, () => agoOf(ms));
  return (
    <time dateTime={at} title={new Date(ms).toLocaleString()}>
      {words}
    </time>
  );
}

function agoOf(ms: number): string {
  const seconds = (ms - Date.now()) / 1_000;
  const [unit, size] = UNITS.find(([, unitS]) => Math.abs(seconds) >= unitS) ?? UNITS[3];
  return relative.format(Math.round(seconds / size), unit);
}

/** Returns a text of the server with its times as those of this place, each in one line. */
export function withLocalTimes(text: string): string {
  return text.replace(ISO_TIME, (time) => new Date(time).toLocaleString().replaceAll(' ', NO_BREAK_SPACE));
}
