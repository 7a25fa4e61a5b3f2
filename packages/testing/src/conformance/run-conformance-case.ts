import type { Answer, Outgoing } from '../kit/sender.ts';
import { checkAnswer } from './check-answer.ts';
import type {
  Capability,
  ConformanceCase,
  DeviceStep,
  Exchange,
  JobStep,
  Naming,
  Sent,
  ServerUnderTest,
  Step,
} from './conformance-case.ts';
import type { CapturedValues } from './matcher.ts';

/** Returns why a case cannot run against this server; null: it can. */
export function reasonToSkip({ needs = [] }: ConformanceCase, server: ServerUnderTest): string | null {
  const missing = needs.find((capability) => !offers(server, capability));
  return missing === undefined ? null : REASONS[missing];
}

const REASONS: Readonly<Record<Capability, string>> = {
  devices: 'it needs a device, and no route of the REST API makes one',
  jobs: 'it needs a job in a queue, and no route of the REST API leaves one',
  backups: 'it makes backups, which only --whole-server permits, on an embedded store',
  whole_server: 'it changes or empties what belongs to the whole server, which only --whole-server permits',
};

function offers(server: ServerUnderTest, capability: Capability): boolean {
  const { registerDevice, leaveJob, isOurs, hasBackups = false } = server;
  if (capability === 'backups') return hasBackups;
  if (capability === 'jobs') return leaveJob !== undefined;
  return capability === 'devices' ? registerDevice !== undefined : isOurs;
}

/** Runs a case. Throws an error that names the request, its answer and the expected one. */
export async function runConformanceCase(conformanceCase: ConformanceCase, server: ServerUnderTest): Promise<void> {
  const kept: CapturedValues = new Map([
    ['login', server.login],
    ['password', server.password],
    ['admin_token', server.token],
  ]);
  const naming = namingOf(server.word, conformanceCase);
  for (const [index, step] of conformanceCase.steps(naming).entries()) {
    if (isDeviceStep(step)) await registerDevice(step, server);
    else if (isJobStep(step)) await leaveJob(step, server);
    else await runExchange(step, server, kept, index + 1);
  }
}

/** Every case has names of its own, so that it can run alone. */
function namingOf(word: string, { rule, title }: ConformanceCase): Naming {
  let sum = 0;
  for (const character of rule + title) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return (name) => `${word}-${sum.toString(36)}-${name}`;
}

function isDeviceStep(step: Step): step is DeviceStep {
  return 'device' in step;
}

function isJobStep(step: Step): step is JobStep {
  return 'job' in step;
}

async function leaveJob({ job }: JobStep, server: ServerUnderTest): Promise<void> {
  if (server.leaveJob === undefined) throw new Error('the case does not say that it needs jobs');
  await server.leaveJob(job.queue, job.state);
}

async function registerDevice({ device }: DeviceStep, server: ServerUnderTest): Promise<void> {
  if (server.registerDevice === undefined) throw new Error('the case does not say that it needs devices');
  await server.registerDevice(device.user, device.attributes);
}

async function runExchange([sent, expected]: Exchange, server: ServerUnderTest, kept: CapturedValues, place: number) {
  const outgoing = outgoingOf(sent, server, kept);
  const answer = await server.send(outgoing);
  server.observe?.(outgoing, answer);
  const problems = checkAnswer(expected, { outgoing, answer, kept, secrets: [server.password] });
  if (problems.length > 0) throw new Error(report(place, outgoing, answer, problems));
}

function outgoingOf(sent: Sent, server: ServerUnderTest, kept: CapturedValues): Outgoing {
  const { method, headers = {}, json, text } = sent;
  const fill = (value: string) => filled(value, kept, (found) => found);
  const given = Object.entries(headers).map(([name, value]) => [name, fill(value)]);
  const body = json === undefined ? (text ?? null) : filled(JSON.stringify(json), kept, escaped);
  return {
    method,
    path: fill(sent.path),
    headers: {
      ...(sent.token === 'none' ? {} : { 'x-sync-api-token': server.token }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(Object.fromEntries(given) as Record<string, string>),
    },
    body,
  };
}

function filled(text: string, kept: CapturedValues, written: (found: string) => string): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const found = kept.get(name);
    return found === undefined ? whole : written(found);
  });
}

/** Escapes a text for the inside of a JSON string. */
function escaped(found: string): string {
  return JSON.stringify(found).slice(1, -1);
}

const SHOWN_UNITS_MAX = 600;

function report(place: number, { method, path, body }: Outgoing, answer: Answer, problems: readonly string[]): string {
  const shorten = (text: string) => (text.length > SHOWN_UNITS_MAX ? `${text.slice(0, SHOWN_UNITS_MAX)}…` : text);
  return [
    `exchange ${place}: ${method} ${shorten(path)}`,
    ...(body === null ? [] : [`  sent ${shorten(String(body))}`]),
    `  answered ${answer.status} ${answer.headers['content-type'] ?? ''} ${shorten(answer.text)}`,
    ...problems.map((problem) => `  ${problem}`),
  ].join('\n');
}
