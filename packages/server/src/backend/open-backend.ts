import type { Clock, Log, Random, Tidemark } from '@tidemark/core';
import type { Config } from '../config/config.ts';
import { jitterFrom } from '../jobs/back-off.ts';
import { systemTimers } from '../jobs/timers.ts';
import { type Resolve, systemResolve } from '../outbound/checked-lookup.ts';
import { BackendHttp } from './backend-http.ts';
import type { CallKind } from './call-gates.ts';
import { HttpBackend, type HttpBackendParts } from './http-backend.ts';

export interface BackendParts {
  readonly config: Config['backend'];
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tidemark: Pick<Tidemark, 'system' | 'stats' | 'audit'>;
  readonly fileLinks?: HttpBackendParts['fileLinks'];
  readonly resolve?: Resolve;
  /** Called after every call. */
  readonly onCall?: HttpBackendParts['onCall'];
}

/** Opens the backend at `adapter_url`. Its calls are counted in the statistics, changes of its breakers are audited. */
export function openBackend({
  config,
  clock,
  steadyClock,
  random,
  log,
  tidemark,
  fileLinks,
  resolve = systemResolve,
  onCall,
}: BackendParts): HttpBackend {
  const { secret, timeoutMs, queryTimeoutMs, denyPrivate } = config;
  return new HttpBackend({
    http: new BackendHttp({ resolve, timers: systemTimers, rules: { denyPrivate } }),
    address: async () => (await tidemark.system.appserver()).adapter_url,
    secret: async () => secret ?? tidemark.system.backendSecret(),
    clock,
    steadyClock,
    random,
    jitter: jitterFrom(random),
    log,
    timeoutMs,
    queryTimeoutMs,
    ...(fileLinks === undefined ? {} : { fileLinks }),
    onCall: (call, outcome, tookMs) => {
      tidemark.stats.record(`backend:${call}:${outcome}`, tookMs, clock.nowMs());
      onCall?.(call, outcome, tookMs);
    },
    onBreaker: (state, kind) => void auditBreaker(tidemark, state, kind).catch(() => log.warn('audit_not_written')),
  });
}

/** Records a change of a circuit breaker, which has no actor. */
function auditBreaker({ audit }: Pick<Tidemark, 'audit'>, state: string, kind: CallKind): Promise<void> {
  const noActor = { actor: null, token_id: null, address: '', request_id: '' };
  return audit.record({ ...noActor, action: 'backend.breaker', target: kind, result: state, subject: { name: kind } });
}
