import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { errorMessage } from '@tidemark/protocol';
import { type Answer, type Outgoing, Sender } from '../kit/sender.ts';
import { AnswerChecker } from './answer-checker.ts';
import type { ApiDocument } from './api-document.ts';
import { cleanUp } from './clean-up.ts';
import type { ServerUnderTest } from './conformance-case.ts';
import { conformanceCases } from './conformance-cases.ts';
import { reasonToSkip, runConformanceCase } from './run-conformance-case.ts';

const USAGE = `usage: npm run conformance -- --url http://127.0.0.1:9292 --password … [--login admin] [--whole-server]

Runs the black-box suite of the REST API against a server. The password may come from TIDEMARK_PASSWORD instead. The suite
makes users, sources and documents under names of its own, and deletes users and sources when it is done. With
--whole-server it also changes the address of the backend and resets the server: everything on it is lost.
`;
const EXIT_USAGE = 64;

interface Arguments {
  readonly url: string;
  readonly login: string;
  readonly password: string;
  readonly isOurs: boolean;
}

function readArguments(): Arguments | null {
  try {
    const text = { type: 'string' } as const;
    const options = { url: text, login: text, password: text, 'whole-server': { type: 'boolean' } } as const;
    const { values } = parseArgs({ options });
    const password = values.password ?? process.env.TIDEMARK_PASSWORD;
    if (values.url === undefined || password === undefined || !URL.canParse(values.url)) return null;
    return { url: values.url, login: values.login ?? 'admin', password, isOurs: values['whole-server'] === true };
  } catch {
    return null;
  }
}

async function logIn(sender: Sender, { login, password }: Arguments): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ login, password });
  const answer = await sender.send({ method: 'POST', path: '/rc/v1/system/login', headers, body });
  if (answer.status === 200) return answer.text;
  throw new Error(`the login of ${JSON.stringify(login)} was answered ${answer.status}: ${answer.text}`);
}

async function checkerOf(sender: Sender): Promise<AnswerChecker> {
  const answer = await sender.send({ method: 'GET', path: '/openapi.json', headers: {}, body: null });
  if (answer.status !== 200) throw new Error(`GET /openapi.json was answered ${answer.status}`);
  return new AnswerChecker(JSON.parse(answer.text) as ApiDocument);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs every case and returns how many failed. */
async function runAll(server: ServerUnderTest): Promise<number> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const one of conformanceCases) {
    const title = `[${one.rule}] ${one.title}`;
    const reason = reasonToSkip(one, server);
    if (reason !== null) {
      counts.skipped++;
      say(`skip ${title}: ${reason}`);
      continue;
    }
    const failure = await runConformanceCase(one, server).then(
      () => null,
      (error: unknown) => errorMessage(error),
    );
    counts[failure === null ? 'passed' : 'failed']++;
    say(failure === null ? `ok   ${title}` : `FAIL ${title}\n${failure}`);
  }
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed;
}

async function run(given: Arguments): Promise<boolean> {
  const sender = new Sender(given.url);
  try {
    const token = await logIn(sender, given);
    const checker = await checkerOf(sender);
    const flaws: string[] = [];
    const observe = (outgoing: Outgoing, answer: Answer) => {
      for (const flaw of checker.check(outgoing, answer)) flaws.push(`${outgoing.method} ${outgoing.path}: ${flaw}`);
    };
    const word = `conformance-${randomBytes(4).toString('hex')}`;
    const server = { ...given, send: (outgoing: Outgoing) => sender.send(outgoing), token, word, observe };
    const failed = await runAll(server);
    await cleanUp(server);
    for (const flaw of flaws) say(`not as described: ${flaw}`);
    return failed === 0 && flaws.length === 0;
  } finally {
    sender.close();
  }
}

/** Returns the exit code. */
async function main(): Promise<number> {
  const given = readArguments();
  if (given === null) {
    process.stderr.write(USAGE);
    return EXIT_USAGE;
  }
  try {
    return (await run(given)) ? 0 : 1;
  } catch (error) {
    say(`conformance: ${errorMessage(error)}`);
    return 1;
  }
}

process.exitCode = await main();
