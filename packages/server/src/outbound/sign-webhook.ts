import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

export interface WebhookHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Returns the headers of Standard Webhooks, by which a receiver with the secret verifies the origin, the content, the
 * age and the id of the message.
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

/**
 * Decodes a secret written as `whsec_` and base64, as the standard defines; the bytes of any other text are the key.
 */
function keyOf(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret, 'utf8');
}
