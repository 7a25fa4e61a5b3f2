import type { Clock } from '@tidemark/core';
import type { PingConfig } from '@tidemark/server/config/ping-config';
import { dryCall } from '@tidemark/server/dry-call';
import type { Check } from './checks.ts';

const clock: Clock = { nowMs: () => Date.now() };

/** Checks the push services with a dry call. The configuration reports malformed keys; only a service knows whether a key is valid. */
export async function checkPush(ping: PingConfig, isAsked: boolean): Promise<readonly Check[]> {
  const { apns, fcm, webPush } = ping;
  const topics = [...(apns?.topics.values() ?? [])].join(', ');
  const settings: Check[] = [
    configured('apns', apns === null ? null : `key ${apns.keyId} of team ${apns.teamId} for ${topics}`),
    configured('fcm', fcm === null ? null : `${fcm.account.clientEmail} of project ${fcm.account.projectId}`),
    {
      name: 'webpush',
      status: webPush.subject === null ? 'warning' : 'ok',
      detail:
        webPush.subject === null
          ? 'ping.web_push_subject is not set, and some push services of browsers insist on it'
          : `push services reach the operator at ${webPush.subject}`,
    },
  ];
  return isAsked ? [...settings, ...(await dryCalls(ping))] : settings;
}

async function dryCalls(ping: PingConfig): Promise<readonly Check[]> {
  const outcomes = await dryCall(ping, clock);
  return outcomes.map(({ service, isAccepted, detail }) => ({
    name: service,
    status: isAccepted ? 'ok' : 'failed',
    detail,
  }));
}

function configured(name: string, detail: string | null): Check {
  return { name, status: 'ok', detail: detail ?? 'is not configured' };
}
