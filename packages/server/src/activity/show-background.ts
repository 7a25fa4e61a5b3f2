import { groupOf, type PingAttempt, type Tidemark } from '@tidemark/core';
import type { BackendFailure } from '@tidemark/protocol';
import type { ActivityHub } from './activity-hub.ts';

const BY_NO_REQUEST = { requestId: null };

/** Shows what jobs and timers of this server do: refreshes, and outcomes of queued uploads. */
export function showBackground(activity: ActivityHub, tidemark: Pick<Tidemark, 'events'>): void {
  tidemark.events.on('refreshed', ({ partition, code, tookMs }) => {
    if (code === null && !activity.wantsSuccesses) return;
    const { source, owner } = partition;
    const user_id = owner.kind === 'user' ? owner.login : null;
    const whose = { user_id, client_id: null, partition: groupOf(partition) };
    activity.publish({ kind: 'refresh', ...whose, source, duration_ms: Math.round(tookMs), code }, BY_NO_REQUEST);
  });
  tidemark.events.on(
    'outcome',
    ({ user: user_id, client: client_id, source, op, opId: op_id, id: object_id, status, code }) => {
      if (status === 'applied' && !activity.wantsSuccesses) return;
      activity.publish(
        { kind: 'upload', user_id, client_id, source, op, op_id, object_id, status, code },
        BY_NO_REQUEST,
      );
    },
  );
}

/** Shows the result of a ping on one device. */
export function showPingAttempt(activity: ActivityHub, attempt: PingAttempt): void {
  const { ping: ping_id, user: user_id, client: client_id, status } = attempt;
  const sources = [...attempt.sources];
  activity.publish(
    { kind: 'ping', user_id, client_id, source: null, ping_id, sources, devices: 1, status },
    BY_NO_REQUEST,
  );
}

/** Shows a call to the backend that failed. */
export function showBackendFailure(activity: ActivityHub, failure: BackendFailure): void {
  const { call, source, user_id, status, code, reason, duration_ms } = failure;
  const what = { call, status, code, reason, duration_ms: Math.max(0, Math.round(duration_ms)) };
  activity.publish({ kind: 'backend', user_id, client_id: null, source, ...what }, BY_NO_REQUEST);
}
