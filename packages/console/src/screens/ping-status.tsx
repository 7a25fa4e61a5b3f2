import type { PingResult } from '@tidemark/protocol';
import { StateBadge, type Tone } from '../components/state-badge.tsx';

const TONES: Readonly<Record<PingResult['status'], Tone>> = {
  accepted: 'good',
  sent: 'good',
  retrying: 'busy',
  collapsed: 'plain',
  gone: 'plain',
  retired: 'bad',
  failed: 'bad',
};

/** What became of a ping on a device. */
export function PingStatus({ status }: Pick<PingResult, 'status'>) {
  return <StateBadge tone={TONES[status]}>{status}</StateBadge>;
}
