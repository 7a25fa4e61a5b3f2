import { generateKeyPairSync } from 'node:crypto';
import { newAccountKey, newApnsKey } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { loadConfig } from './load-config.ts';
import { readServiceAccount, readTopics } from './push-keys.ts';

const APNS = {
  TIDEMARK_PING_APNS_KEY: newApnsKey(),
  TIDEMARK_PING_APNS_KEY_ID: 'ABC123DEFG',
  TIDEMARK_PING_APNS_TEAM_ID: 'TEAM000001',
  TIDEMARK_PING_APNS_TOPICS: 'com.example.shop, depot=com.example.depot',
};
const ACCOUNT = {
  type: 'service_account',
  project_id: 'shop-1',
  private_key_id: 'k1',
  client_email: 'push@shop-1.example',
  private_key: newAccountKey(),
  token_uri: 'https://oauth2.googleapis.com/token',
};

const load = (env: Readonly<Record<string, string>>) => loadConfig({ env, folder: '/', userId: 1000 });
const problemOf = (env: Readonly<Record<string, string>>) => {
  try {
    load(env);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('keys of push services', () => {
  it('[CONF-14] keys of push services are parsed at the start into the form that notifiers use', () => {
    const { config } = load({ ...APNS, TIDEMARK_PING_FCM_ACCOUNT: JSON.stringify(ACCOUNT) });
    expect(config.ping.apns).toEqual({
      key: APNS.TIDEMARK_PING_APNS_KEY,
      keyId: 'ABC123DEFG',
      teamId: 'TEAM000001',
      topics: new Map([
        ['com.example.shop', 'com.example.shop'],
        ['depot', 'com.example.depot'],
      ]),
      environment: 'production',
      url: null,
    });
    expect(config.ping.fcm?.account).toEqual({
      projectId: 'shop-1',
      clientEmail: 'push@shop-1.example',
      privateKey: ACCOUNT.private_key,
      privateKeyId: 'k1',
      tokenUri: ACCOUNT.token_uri,
    });
  });

  it('[CONF-14] invalid keys of push services are refused and never repeated', () => {
    const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    const wrong = [
      { ...APNS, TIDEMARK_PING_APNS_KEY: 'hunter2hunter2' },
      { ...APNS, TIDEMARK_PING_APNS_KEY: ACCOUNT.private_key },
      { ...APNS, TIDEMARK_PING_APNS_KEY: other.export({ type: 'pkcs8', format: 'pem' }).toString() },
      { TIDEMARK_PING_FCM_ACCOUNT: 'hunter2hunter2' },
      { TIDEMARK_PING_FCM_ACCOUNT: JSON.stringify({ ...ACCOUNT, private_key: newApnsKey() }) },
    ];
    for (const env of wrong) {
      const problem = problemOf(env);
      expect(problem).toMatch(/^TIDEMARK_PING_(?:APNS_KEY|FCM_ACCOUNT) must be the (?:text|JSON) of/);
      expect(problem).not.toContain('hunter2');
      expect(problem).not.toContain('PRIVATE KEY');
    }
  });

  it('[CONF-14] keys of push services need the settings they depend on', () => {
    const { TIDEMARK_PING_APNS_TEAM_ID: _team, ...without } = APNS;
    expect(problemOf(without)).toBe('ping.apns_team_id must be set, because ping.apns_key is');
    expect(problemOf({ TIDEMARK_PING_WEBHOOK_URL: 'http://127.0.0.1/x' })).toBe(
      'ping.webhook_secret must be set, because ping.webhook_url is',
    );
  });

  it('[CONF-14] a service account must have all required fields', () => {
    for (const name of ['type', 'project_id', 'client_email', 'private_key'] as const) {
      expect(readServiceAccount(JSON.stringify({ ...ACCOUNT, [name]: undefined })), name).toBeNull();
    }
    expect(readServiceAccount(JSON.stringify({ ...ACCOUNT, token_uri: 'http://oauth.example' }))).toBeNull();
    expect(readServiceAccount(JSON.stringify({ ...ACCOUNT, token_uri: undefined }))?.tokenUri).toBe(ACCOUNT.token_uri);
  });

  it('[CONF-14] bundle ids are a list', () => {
    expect(readTopics('a.b')).toEqual(new Map([['a.b', 'a.b']]));
    for (const text of ['', 'a b', 'a,', '=a', 'a=', 'a=b=c', 'a/b', `${'x'.repeat(156)}`]) {
      expect(readTopics(text), text).toBeNull();
    }
  });
});
