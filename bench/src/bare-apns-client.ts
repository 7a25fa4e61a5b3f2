import { createPrivateKey, sign } from 'node:crypto';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { ApnsIdentity } from './apns-process.ts';

export interface BareLoad {
  readonly origin: string;
  readonly ca: string;
  readonly identity: ApnsIdentity;
  readonly devices: readonly string[];
  readonly body: string;
  readonly connections: number;
  readonly underWay: number;
}

/** Sends to the stand-in as fast as Node can, keeping nothing: the stand-in's own limit, as one process can reach it. */
export async function sendBare(load: BareLoad): Promise<void> {
  const sessions = Array.from({ length: load.connections }, () => connect(load.origin, { ca: load.ca }));
  await Promise.all(sessions.map((session) => new Promise((resolve) => session.once('remoteSettings', resolve))));
  const authorization = `bearer ${tokenOf(load.identity)}`;
  let next = 0;
  let accepted = 0;
  const work = async (session: ClientHttp2Session) => {
    for (let device = load.devices[next++]; device !== undefined; device = load.devices[next++]) {
      if ((await post(session, headersOf(device, authorization, load.identity), load.body)) === 200) accepted++;
    }
  };
  await Promise.all(
    Array.from({ length: load.underWay }, (_, index) => work(sessions[index % sessions.length] as ClientHttp2Session)),
  );
  for (const session of sessions) session.close();
  if (accepted !== load.devices.length) throw new Error(`${accepted} of ${load.devices.length} were accepted`);
}

function headersOf(device: string, authorization: string, { topics }: ApnsIdentity) {
  return {
    ':method': 'POST',
    ':path': `/3/device/${device}`,
    authorization,
    'apns-topic': topics[0] ?? '',
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-expiration': '2000000000',
    'apns-id': '00000000-0000-8000-8000-000000000000',
    'apns-collapse-id': 'x'.repeat(32),
    'content-type': 'application/json',
  };
}

function post(session: ClientHttp2Session, headers: Record<string, string>, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    let status = 0;
    stream.on('response', (answer) => {
      status = answer[':status'] ?? 0;
    });
    stream.on('error', reject);
    stream.on('close', () => resolve(status));
    stream.resume();
    stream.end(body);
  });
}

function tokenOf({ key, keyId, teamId }: ApnsIdentity): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = `${part({ alg: 'ES256', kid: keyId })}.${part({ iss: teamId, iat: Math.floor(Date.now() / 1_000) })}`;
  const options = { key: createPrivateKey(key), dsaEncoding: 'ieee-p1363' as const };
  return `${head}.${sign('sha256', Buffer.from(head), options).toString('base64url')}`;
}
