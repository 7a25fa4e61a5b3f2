import { INTERVAL_S_MAX, PING_RESULTS_MAX } from '@tidemark/protocol';
import { Type } from '@tidemark/protocol/typebox';
import { BROWSER_PUSH_HOSTS, readHostList } from './host-list.ts';
import { integer, isPlainUrl, oneOf, optionalText, TEXT_RULE, text, URL_RULE, yesOrNo } from './kinds.ts';
import { isApnsKey, readServiceAccount, readTopics } from './push-keys.ts';

const WEEK_S = 604_800;
const DAY_S = 86_400;
/** The longest time that push services keep a ping. */
const TTL_S_MAX = 4 * WEEK_S;
const RESULTS_MAX = 100_000_000;
const DELAY_MS_MAX = 3_600_000;
const ORIGIN_RULE = 'must be an https URL without a path';

function isOrigin(value: string): boolean {
  return isPlainUrl(value) && new URL(value).protocol === 'https:' && new URL(value).origin === value;
}

function isSubject(value: string): boolean {
  return URL.canParse(value) && ['mailto:', 'https:'].includes(new URL(value).protocol);
}

/** Settings for sending pings. */
export const PingSettings = Type.Object(
  {
    webhook_url: optionalText(
      {
        description: 'Where pings are posted to whose push service is not configured, one request per device.',
        rule: URL_RULE,
      },
      isPlainUrl,
    ),
    webhook_secret: optionalText({
      description: 'The secret those requests are signed with.',
      rule: TEXT_RULE,
      secret: true,
    }),
    apns_key: optionalText(
      {
        description: "Apple's key for push notifications: the content of the .p8 file.",
        rule: 'must be the text of a .p8 file, which holds a private key of the curve P-256',
        secret: true,
      },
      isApnsKey,
    ),
    apns_key_id: optionalText(
      { description: 'The id of that key.', rule: 'must be the 10 letters and digits Apple shows' },
      (value) => /^[A-Z0-9]{10}$/.test(value),
    ),
    apns_team_id: optionalText(
      { description: "The id of the operator's team at Apple.", rule: 'must be the 10 letters and digits Apple shows' },
      (value) => /^[A-Z0-9]{10}$/.test(value),
    ),
    apns_topics: optionalText(
      {
        description:
          'The bundle ids of the apps, with commas between them; `app=bundle.id` for a device that calls its app otherwise. The first is for devices that name none.',
        rule: 'must be bundle ids, or `app=bundle.id`, with commas between them',
      },
      (value) => readTopics(value) !== null,
    ),
    apns_environment: oneOf(
      ['production', 'sandbox'],
      'production',
      'Where devices are registered that do not say `apns_sandbox` themselves.',
    ),
    apns_url: optionalText({ description: "Somewhere else than at Apple's.", rule: ORIGIN_RULE }, isOrigin),
    fcm_account: optionalText(
      {
        description: "Google's service account for Firebase Cloud Messaging: the content of its JSON file.",
        rule: 'must be the JSON of a service account with project_id, client_email and an RSA private_key',
        secret: true,
      },
      (value) => readServiceAccount(value) !== null,
    ),
    fcm_url: optionalText({ description: "Somewhere else than at Google's.", rule: ORIGIN_RULE }, isOrigin),
    web_push_subject: optionalText(
      {
        description: 'Where push services of browsers reach the operator; `public_url` when it is not set.',
        rule: 'must be a mailto: or https: URL',
      },
      isSubject,
    ),
    web_push_hosts: text(
      {
        description:
          'The push services of browsers that may be called, with commas between them; `*.` stands for all below a name, `*` alone for every one.',
        default: BROWSER_PUSH_HOSTS,
        rule: 'must be host names with commas between them',
      },
      (value) => readHostList(value) !== null,
    ),
    web_push_private: yesOrNo(false, 'Whether such a push service may be at a private or loopback address.'),
    ca_file: optionalText({
      description: 'Certificates in PEM to trust beside those of the system when a push service is called.',
      rule: 'must be the path of a file',
      path: true,
    }),
    ttl_s: integer(0, TTL_S_MAX, DAY_S, 'How long a push service keeps a ping for a device that is away, in seconds.'),
    concurrency: integer(1, 1_000, 64, 'Pings under way to one push service at once.'),
    rate_per_s: integer(1, 100_000, 2_000, 'Pings to one push service in a second.'),
    spread_per_s: integer(
      1,
      1_000_000,
      1_000,
      'Devices of one push service that one ping reaches in a second; the others follow at random moments after.',
    ),
    results_retention_s: integer(60, INTERVAL_S_MAX, WEEK_S, 'How long the results of pings are kept, in seconds.'),
    results_max: integer(1, RESULTS_MAX, PING_RESULTS_MAX, 'Results, one for each device, that are kept at most.'),
    push_notify_delay_ms: integer(
      0,
      DELAY_MS_MAX,
      1_000,
      'How long changes to a source with `push_notify` are collected before its users are pinged, in milliseconds.',
    ),
  },
  { additionalProperties: false },
);
