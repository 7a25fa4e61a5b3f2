import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

export interface WebhookHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * The headers of Standard Webhooks: whoever shares the secret can tell that the message comes from here, is whole, is
 * not old, and was not seen before.
 */
export function signWebhook(
  secret: string,
  message: { readonly id: string; readonly timestampS: number; readonly body: string },
): WebhookHeaders {
  const { id, timestampS, body } = message;
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestampS}.${body}`, 'utf8').digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': `v1,${signature}`,
  };
}

/** A secret is written `whsec_` and base64, as the standard says; any other text stands for its bytes. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret, 'utf8');
}
