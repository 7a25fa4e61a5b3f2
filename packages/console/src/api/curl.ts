import { TidemarkClient } from '@tidemark/backend';
import { SERVER_URL } from './client.ts';

/** A call of the API, as a screen makes it. */
export type ApiCall = (client: TidemarkClient) => Promise<unknown>;

const HIDDEN = '…';

/** Returns a sample call as a curl command, with its password. */
export function sampleCurl(call: ApiCall): string {
  return recordedCurl(call, (body) => body);
}

/** Returns the call as a curl command with the real address. Passwords are left out; the token is a variable. */
export function curlOf(call: ApiCall): string {
  return recordedCurl(call, withoutPassword);
}

function recordedCurl(call: ApiCall, shownBody: (body: string) => string): string {
  let command = '';
  const recorder = new TidemarkClient({
    url: SERVER_URL,
    platform: {
      fetch: async (url, { method = 'GET', body }) => {
        command = curlLine(url, method, typeof body === 'string' ? shownBody(body) : null);
        return Response.json({});
      },
    },
  });
  try {
    // The client calls `fetch` before its first pause, so the command is known at once.
    call(recorder).catch(() => undefined);
  } catch {
    // A name that is still empty cannot be part of a path.
    return '# fill in the fields above';
  }
  return command;
}

/** Returns a push as a curl command. The SDK splits pushes into parts, so that its calls are not known beforehand. */
export function pushCurl(source: string, body: object, operation = 'push_objects'): string {
  const url = `${SERVER_URL}/app/v1/${encodeURIComponent(source)}/${operation}`;
  return curlLine(url, 'POST', JSON.stringify(body));
}

interface PingPipeline {
  /** True: the command prints one JSON text after the other, instead of one. */
  readonly isSlurped?: boolean;
  /** A filter of jq that makes a list of logins of what the command prints. */
  readonly users: string;
  /** The other members of the ping. */
  readonly ping: object;
}

/** Returns a ping whose users another command has to find out. */
export function pingPipeline(command: string, { isSlurped = false, users, ping }: PingPipeline): string {
  const filter = `{user_id: ${users}} + ${JSON.stringify(ping)}`;
  const lines = [
    command,
    `jq ${isSlurped ? '-s ' : ''}${quoted(filter)}`,
    curlLine(`${SERVER_URL}/rc/v1/users/ping`, 'POST', '@-'),
  ];
  return lines.join(' |\n');
}

/** Returns a call as a curl command. */
export function curlLine(url: string, method: string, body: string | null): string {
  const isGet = method === 'GET';
  const isPlainPost = method === 'POST' && body !== null;
  const lines = [
    `curl ${isGet || isPlainPost ? '' : `-X ${method} `}${quoted(url)}`,
    `  -H "X-Sync-API-TOKEN: $TOKEN"`,
    ...(body === null ? [] : [`  -H 'Content-Type: application/json'`, `  -d ${quoted(body)}`]),
  ];
  return lines.join(' \\\n');
}

function withoutPassword(body: string): string {
  return body.replaceAll(/("password":)"(?:[^"\\]|\\.)*"/g, `$1"${HIDDEN}"`);
}

/** Quotes a text for a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
