import diagnostics from 'node:diagnostics_channel';
import {
  type ApiDocument,
  type ApiResponse,
  backendDescription,
  endpointsOf,
  resolved,
  uncataloguedCodes,
  undescribed,
} from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BACKEND_CALLS } from './backend/backend-contract.ts';
import { NamedSchemas } from './http/named-schemas.ts';

interface CodeRoute {
  readonly method: string;
  readonly url: string;
  readonly isHidden: boolean;
}

const routes: CodeRoute[] = [];
let server: TestServer;
let document: ApiDocument;

/** The framework announces every server it creates, so all routes that really exist are counted. */
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

function responseOf(method: string, template: string, status: string): ApiResponse | undefined {
  const place = ['paths', template, method.toLowerCase(), 'responses', status];
  return resolved(document, place).value as ApiResponse | undefined;
}

function templateOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

it('[REST-27] every route in the code is described, and every described route is in the code', () => {
  const described = endpointsOf(document).map(({ method, template }) => `${method} ${template}`);
  const inCode = routes
    .filter(({ method, isHidden }) => !isHidden && method !== 'HEAD')
    .map(({ method, url }) => `${method} ${templateOf(url)}`);
  expect(inCode.length).toBeGreaterThan(40);
  expect([...described].sort()).toEqual([...new Set(inCode)].sort());
});

it('[REST-27] only the documentation and the console are not described', () => {
  const hidden = routes.filter(({ isHidden, url }) => isHidden && !/^\/(?:docs|console|llms)/.test(url));
  expect(hidden).toEqual([]);
});

it('[HARD-56] every described path refuses a method that it does not take, and lists those that it takes', async () => {
  const headers = { 'x-sync-api-token': server.token };
  const urls = [...new Set(routes.filter(({ isHidden }) => !isHidden).map(({ url }) => url))];
  expect(urls.length).toBeGreaterThan(40);
  for (const url of urls) {
    const taken = routes.filter((route) => route.url === url).map(({ method }) => method);
    const method = taken.includes('PATCH') ? 'PUT' : 'PATCH';
    const response = await fetch(server.url + url.replaceAll(/:\w+/g, 'x'), { method, headers });
    await response.text();
    expect([url, response.status, response.headers.get('allow')]).toEqual([url, 405, taken.sort().join(', ')]);
  }
});

it('[REST-28] the description is valid OpenAPI 3.1', () => {
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
      ...Object.keys(responses).flatMap((status) => [
        ...(/^[1-5][0-9]{2}$/.test(status) ? [] : [`${place}: ${status} is no status`]),
        ...(typeof responseOf(method, template, status)?.description === 'string'
          ? []
          : [`${place}: ${status} has no description`]),
      ]),
    ];
  });
  expect(flaws).toEqual([]);
});

it('[REST-28] every reference in the description resolves', () => {
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

it('[REST-28] all refusals are described as problems, and only logins, the session of the console and the options of uploads need no token', () => {
  const api = endpointsOf(document).filter(({ template }) => /^\/(?:rc|app|sync)\//.test(template));
  const others = api.flatMap(({ method, template, operation }) =>
    Object.keys(operation.responses)
      .filter((status) => Number(status) >= 400)
      .filter((status) => !isProblem(responseOf(method, template, status)))
      .map((status) => `${method} ${template} ${status}`),
  );
  expect(others).toEqual([]);
  const open = api.filter(({ operation }) => operation.security?.length === 0);
  expect(open.map(({ method, template }) => `${method} ${template}`).sort()).toEqual([
    'DELETE /rc/v1/session',
    'GET /rc/v1/session',
    'GET /rc/v1/session/provider',
    'OPTIONS /sync/v1/files',
    'POST /rc/v1/session',
    'POST /rc/v1/session/provider',
    'POST /rc/v1/system/login',
    'POST /sync/v1/login',
  ]);
});

function isProblem(response: ApiResponse | undefined): boolean {
  const { schema = {} } = response?.content?.['application/problem+json'] ?? {};
  const { allOf = [] } = schema as { readonly allOf?: readonly { readonly $ref?: string }[] };
  return allOf[0]?.$ref === '#/components/schemas/Problem';
}

describe.each(['openapi.json', 'backend/openapi.json'])('%s', (name) => {
  const described = () =>
    name === 'openapi.json' ? document : (backendDescription(BACKEND_CALLS, new NamedSchemas()) as ApiDocument);

  it('[REST-37] every operation has a unique operationId, and every parameter and property is described', () => {
    expect(undescribed(described())).toEqual([]);
  });
});

it('[REST-38] every operation that needs a token lists its refusals by status, with codes of the catalogue', () => {
  expect(uncataloguedCodes(document)).toEqual([]);
  const statuses = new Map(
    endpointsOf(document).map(({ operation }) => [operation.operationId, Object.keys(operation.responses)]),
  );
  expect(statuses.get('usersDelete')).toEqual(
    ['200', '400', '401', '403', '404', '408', '409', '413', '414', '415', '422', '429', '431', '500', '503', '507'], //
  );
  const withToken = endpointsOf(document).filter(({ operation }) => operation.security?.length !== 0);
  const silent = withToken.filter(({ operation }) => !['401', '403', '500'].every((one) => one in operation.responses));
  expect(silent.map(({ method, template }) => `${method} ${template}`)).toEqual([]);
});

it('[REST-38] a code that is not in the catalogue, or has another status there, is detected', () => {
  const problem = (code: string) => ({
    description: code,
    content: { 'application/problem+json': { schema: { allOf: [{}, { properties: { code: { enum: [code] } } }] } } },
  });
  const responses = { 404: problem('user_not_found'), 409: problem('user_not_found'), 422: problem('no_such_code') };
  expect(uncataloguedCodes({ ...document, paths: { '/x': { get: { responses } } } })).toEqual([
    'GET /x 409: user_not_found',
    'GET /x 422: no_such_code',
  ]);
});

it('[REST-37] an operation, parameter or property without a description is detected', () => {
  const parameters = [{ name: 'limit', in: 'query', schema: { type: 'integer' } }] as const;
  const schema = { type: 'object', properties: { colour: { type: 'string' } } };
  const requestBody = { content: { 'application/json': { schema } } };
  const flawed = { ...document, components: {}, paths: { '/x': { post: { parameters, requestBody, responses: {} } } } };
  expect(undescribed(flawed)).toEqual([
    'POST /x has no operationId',
    'POST /x has no summary or no description',
    'POST /x has no described tag',
    'POST /x: limit is not described',
    'POST /x: limit has no example',
    '#/paths//x/post/requestBody/content/application/json/schema/colour is not described',
    '#/paths//x/post/requestBody/content/application/json/schema/colour has no example',
  ]);
});

it('[REST-29] the viewer works without the internet and runs only scripts of the server', async () => {
  const response = await fetch(`${server.url}/docs/api/`);
  const page = await response.text();
  expect(response.status).toBe(200);
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'self'/);
  const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => new URL(String(file), response.url));
  expect(files.length).toBeGreaterThan(3);
  for (const file of files)
    expect({ file: file.pathname, status: (await fetch(file)).status }).toMatchObject({ status: 200 });
});
