import { readHostList } from './host-list.ts';
import { isHttpsUrl } from './kinds.ts';
import { readServiceAccount, readTopics, type ServiceAccount } from './push-keys.ts';
import type { Settings } from './schema.ts';

export interface ApnsConfig {
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly topics: ReadonlyMap<string, string>;
  readonly environment: 'production' | 'sandbox';
  /** Null: Apple's server. */
  readonly url: string | null;
}

export interface FcmConfig {
  readonly account: ServiceAccount;
  /** Null: Google's server. */
  readonly url: string | null;
}

/** How pings are sent. A push service without keys is null. */
export interface PingConfig {
  readonly webhookUrl: string | null;
  readonly webhookSecret: string | null;
  readonly apns: ApnsConfig | null;
  readonly fcm: FcmConfig | null;
  readonly webPush: {
    readonly subject: string | null;
    readonly hosts: readonly string[];
    readonly allowPrivate: boolean;
  };
  readonly caFile: string | null;
  readonly ttlS: number;
  readonly concurrency: number;
  readonly ratePerS: number;
  readonly spreadPerS: number;
  readonly resultsRetentionS: number;
  readonly resultsMax: number;
  readonly pushNotifyDelayMs: number;
}

export function pingConfigOf(settings: Settings): PingConfig {
  const { ping, public_url: publicUrl } = settings;
  const ownUrl = isHttpsUrl(publicUrl) ? publicUrl : null;
  return {
    webhookUrl: ping.webhook_url,
    webhookSecret: ping.webhook_secret,
    apns: apnsOf(ping),
    fcm: fcmOf(ping),
    webPush: {
      subject: ping.web_push_subject ?? ownUrl,
      hosts: readHostList(ping.web_push_hosts) ?? [],
      allowPrivate: ping.web_push_private,
    },
    caFile: ping.ca_file,
    ttlS: ping.ttl_s,
    concurrency: ping.concurrency,
    ratePerS: ping.rate_per_s,
    spreadPerS: ping.spread_per_s,
    resultsRetentionS: ping.results_retention_s,
    resultsMax: ping.results_max,
    pushNotifyDelayMs: ping.push_notify_delay_ms,
  };
}

function apnsOf(ping: Settings['ping']): ApnsConfig | null {
  const { apns_key: key, apns_key_id: keyId, apns_team_id: teamId } = ping;
  const topics = ping.apns_topics === null ? null : readTopics(ping.apns_topics);
  if (key === null || keyId === null || teamId === null || topics === null) return null;
  return { key, keyId, teamId, topics, environment: ping.apns_environment, url: ping.apns_url };
}

function fcmOf(ping: Settings['ping']): FcmConfig | null {
  const account = ping.fcm_account === null ? null : readServiceAccount(ping.fcm_account);
  return account === null ? null : { account, url: ping.fcm_url };
}
