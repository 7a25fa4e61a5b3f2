import { REFUSALS } from '@tidemark/protocol';
import { type ApiDocument, backendDescription, wireReport } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { BACKEND_CALLS } from './backend/backend-contract.ts';
import { NamedSchemas } from './http/named-schemas.ts';

const COMMAND = 'npx vitest run packages/server/src/wire.test.ts --update';
const ADVICE = `what is on the wire has changed. Do devices, backends and programs of the last release still work with it, as they do \
after an addition? Then run ${COMMAND}. Otherwise it is a new version: give it a path of its own and keep the old one \
(docs/reference/sync-protocol.md#versions)`;
const HEAD = `What is on the wire: a hash of each part by its version, and of each call. Texts for people do not count.
Written by \`${COMMAND}\`; docs/reference/sync-protocol.md#versions says when.`;

it('[REST-83] the schemas of the wire are those that are recorded with its versions', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as ApiDocument;
  const backend = backendDescription(BACKEND_CALLS, new NamedSchemas()) as ApiDocument;
  const parts = [
    HEAD,
    wireReport('The device protocol, version 1', within(document, /^\/sync\/v1\//)),
    wireReport('The REST API, version 1', within(document, /^\/(?:rc|app)\/v1\//)),
    wireReport('Other routes, without a version', within(document, /^\/(?!(?:sync|rc|app)\/v1\/)/)),
    wireReport(`Calls to backends, version ${backend.info.version}`, backend),
    `Error codes\n${Object.entries(REFUSALS)
      .map(([code, { status }]) => `  ${code} ${status}`)
      .sort()
      .join('\n')}`,
  ];
  await expect(`${parts.join('\n\n')}\n`, ADVICE).toMatchFileSnapshot('../../protocol/wire.snapshot.txt');
});

function within(document: ApiDocument, paths: RegExp): ApiDocument {
  return {
    ...document,
    paths: Object.fromEntries(Object.entries(document.paths).filter(([path]) => paths.test(path))),
  };
}

it('[REST-83] a change of a schema changes the hash of its calls and no other; one of a description changes none', () => {
  const report = (member: object, description = 'A boat.') =>
    wireReport('boats', {
      openapi: '3.1.0',
      info: { title: 'boats', version: '1' },
      paths: {
        '/boats': {
          get: { responses: { '200': { description, content: { 'application/json': { schema: REFERENCE } } } } },
          delete: { summary: description, responses: { '204': { description } } },
        },
      },
      components: { schemas: { Boat: { description, type: 'object', properties: member } } },
    }).split('\n');
  const before = report({ description: { type: 'string', description: 'What it says about itself.' } });
  expect(before).toEqual([
    expect.stringMatching(/^boats: [0-9a-f]{16}$/),
    expect.stringMatching(/^ {2}DELETE \/boats [0-9a-f]{8}$/),
    expect.stringMatching(/^ {2}GET \/boats [0-9a-f]{8}$/),
  ]);
  expect(report({ description: { type: 'string', description: 'Other words.' } }, 'A ship.')).toEqual(before);
  const isSame = report({ description: { type: 'integer' } }).map((line, index) => line === before[index]);
  expect(isSame).toEqual([false, true, false]);
});

const REFERENCE = { $ref: '#/components/schemas/Boat' };
