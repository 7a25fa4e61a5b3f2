import type { Level } from './demo-server.ts';

/** How far the water can fall, in percent, and how many changes behind it has fallen half of that. One must be visible. */
const FALL_MAX = 80;
const HALF_WAY = 3;

/**
 * Shows the tidemark of a device against the head: the dashed line is the newest change of the server, the water is what
 * the device has acknowledged. Both are what the server knows, so the water of an offline device stays where it was.
 */
export function TideGauge({ level, isOnline }: { readonly level: Level | undefined; readonly isOnline: boolean }) {
  const { tidemark, head } = level ?? { tidemark: 0, head: 0 };
  const behind = head - tidemark;
  const fall = level === undefined ? FALL_MAX : (FALL_MAX * behind) / (behind + HALF_WAY);
  return (
    <div className="gauge" data-behind={behind} data-online={isOnline}>
      <meter className="hidden" aria-label="Tidemark" min={0} max={Math.max(head, 1)} value={tidemark} />
      <div className="water" style={{ transform: `translateY(${fall}%)` }}>
        <Wave className="wave back" />
        <Wave className="wave" />
      </div>
      <div className="head-line" aria-hidden="true" />
      <p className="gauge-head">
        head <b>{head}</b>
      </p>
      <p className="gauge-mark">
        tidemark <b>{tidemark}</b>
      </p>
      <p className="gauge-behind">{behindText(level, behind)}</p>
    </div>
  );
}

function behindText(level: Level | undefined, behind: number): string {
  if (level === undefined) return 'waiting for the server';
  return behind === 0 ? 'level' : `${behind} behind`;
}

function Wave({ className }: { readonly className: string }) {
  return (
    <svg className={className} viewBox="0 0 1200 20" preserveAspectRatio="none" aria-hidden="true">
      <path d="M0 10 Q50 0 100 10 T200 10 T300 10 T400 10 T500 10 T600 10 T700 10 T800 10 T900 10 T1000 10 T1100 10 T1200 10 V20 H0 Z" />
    </svg>
  );
}
