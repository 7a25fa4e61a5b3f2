import diagnostics from 'node:diagnostics_channel';
import { type ApiDocument, endpointsOf } from '@tidemark/testing';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from './test-server.ts';

interface CodeRoute {
  readonly method: string;
  readonly url: string;
  readonly isHidden: boolean;
}

const routes: CodeRoute[] = [];
let server: TestServer;
let document: ApiDocument;

/** The framework tells whoever listens of every server it makes: so what is counted is what really answers. */
function listen(message: unknown): void {
  const { fastify } = message as { readonly fastify: FastifyInstance };
  fastify.addHook('onRoute', ({ method, url, schema }) => {
    const isHidden = (schema as { readonly hide?: boolean } | undefined)?.hide === true;
    for (const name of [method].flat()) routes.push({ method: name, url, isHidden });
  });
}

beforeAll(async () => {
  diagnostics.subscribe('fastify.initialization', listen);
  server = await startTestServer();
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as ApiDocument;
});

afterAll(async () => {
  diagnostics.unsubscribe('fastify.initialization', listen);
  await server.close();
});

function templateOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

it('[REST-27] every route in the code is described, and every route described is in the code', () => {
  const described = endpointsOf(document).map(({ method, template }) => `${method} ${template}`);
  const inCode = routes
    .filter(({ method, isHidden }) => !isHidden && method !== 'HEAD')
    .map(({ method, url }) => `${method} ${templateOf(url)}`);
  expect(inCode.length).toBeGreaterThan(40);
  expect([...described].sort()).toEqual([...new Set(inCode)].sort());
});

it('[REST-27] a route that is not described only refuses, except for the viewer', async () => {
  const hidden = routes.filter(
    ({ isHidden, url, method }) => isHidden && !url.startsWith('/docs') && method !== 'HEAD',
  );
  expect(hidden.length).toBeGreaterThan(100);
  const statuses = new Map<string, number>();
  for (const { method, url } of hidden) {
    // The client of Node does not send TRACE, which is no different from the others.
    if (method === 'TRACE') continue;
    const headers = { 'x-sync-api-token': server.token };
    const response = await fetch(server.url + url.replaceAll(/:\w+/g, 'x'), { method, headers });
    await response.text();
    statuses.set(`${method} ${url}`, response.status);
  }
  expect([...statuses].filter(([, status]) => status !== 405)).toEqual([]);
});

it('[REST-28] the description is OpenAPI 3.1 with everything that it requires', () => {
  expect(document.openapi).toMatch(/^3\.1\.[0-9]+$/);
  expect(document.info).toMatchObject({ title: expect.any(String), version: expect.stringMatching(/^[0-9]+\.[0-9]+/) });
  const flaws = endpointsOf(document).flatMap(({ method, template, operation }) => {
    const place = `${method} ${template}`;
    const { parameters = [], requestBody, responses, summary } = operation;
    const inPath = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = parameters.filter((parameter) => parameter.in === 'path');
    return [
      ...(template.startsWith('/') ? [] : [`${place} does not begin with a slash`]),
      ...(typeof summary === 'string' && summary !== '' ? [] : [`${place} has no summary`]),
      ...(String(described.map(({ name }) => name).sort()) === String(inPath.sort()) ? [] : [`${place}: parameters`]),
      ...described.filter(({ required }) => required !== true).map(({ name }) => `${place}: ${name} is not required`),
      ...parameters
        .filter(({ schema }) => typeof schema !== 'object')
        .map(({ name }) => `${place}: ${name} has no schema`),
      ...(requestBody === undefined || requestBody.content['application/json'] !== undefined ? [] : [`${place}: body`]),
      ...(Object.keys(responses).length > 0 ? [] : [`${place} has no responses`]),
      ...Object.entries(responses).flatMap(([status, response]) => [
        ...(/^(?:[1-5][0-9]{2}|[1-5]XX|default)$/.test(status) ? [] : [`${place}: ${status} is no status`]),
        ...(typeof response.description === 'string' ? [] : [`${place}: ${status} has no description`]),
      ]),
    ];
  });
  expect(flaws).toEqual([]);
});

it('[REST-28] every reference in the description leads somewhere', () => {
  const references: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (name === '$ref') references.push(String(member));
      else collect(member);
    }
  };
  collect(document);
  expect(references.length).toBeGreaterThan(0);
  expect([...new Set(references)].filter((reference) => found(reference) === undefined)).toEqual([]);
});

function found(reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  const parts = reference
    .slice(2)
    .split('/')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document);
}

it('[REST-28] everything refused is described as a problem, and only logins are open', () => {
  const api = endpointsOf(document).filter(({ template }) => /^\/(?:rc|app|sync)\//.test(template));
  const refused = api.filter(({ operation }) => {
    const content = operation.responses['4XX']?.content ?? {};
    return content['application/problem+json']?.schema.$ref === '#/components/schemas/Problem';
  });
  expect(refused.length).toBe(api.length);
  const open = api.filter(({ operation }) => operation.security?.length === 0);
  expect(open.map(({ method, template }) => `${method} ${template}`)).toEqual([
    'POST /rc/v1/system/login',
    'POST /sync/v1/login',
  ]);
});

it('[REST-29] the viewer works without the internet and runs only what the server sends', async () => {
  const response = await fetch(`${server.url}/docs/`);
  const page = await response.text();
  expect(response.status).toBe(200);
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'self'/);
  const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => new URL(String(file), response.url));
  expect(files.length).toBeGreaterThan(3);
  for (const file of files)
    expect({ file: file.pathname, status: (await fetch(file)).status }).toMatchObject({ status: 200 });
});
