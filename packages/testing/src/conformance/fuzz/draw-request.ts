import type { Rng } from '@tidemark/client-testing';
import type { Outgoing } from '../../kit/sender.ts';
import type { ApiParameter, Endpoint, Schema } from '../api-document.ts';
import { segment } from '../requests.ts';
import { drawObject, drawValue } from './draw-value.ts';
import { junkText, junkValue } from './junk.ts';
import { spoilText, spoilValue } from './spoil.ts';

/** Draws a request to an endpoint: often valid, often invalid in one place, sometimes in several. */
export function drawRequest(endpoint: Endpoint, token: string, rng: Rng): Outgoing {
  const { method, template, operation } = endpoint;
  const { parameters = [] } = operation;
  const path = drawPath(template, parameters, rng);
  const query = drawQuery(parameters, rng);
  const body = drawBody(endpoint, rng);
  return {
    method: rng.chance(3) ? rng.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) : method,
    path: query === '' ? path : `${path}?${query}`,
    headers: { ...drawToken(token, rng), ...drawHeaders(body !== null, rng) },
    body,
  };
}

function drawPath(template: string, parameters: readonly ApiParameter[], rng: Rng): string {
  const path = template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const schema = parameters.find((parameter) => parameter.name === name)?.schema ?? {};
    const value = rng.chance(75) ? asText(drawValue(name, schema, rng)) : junkText(rng);
    return drawSegment(value, rng);
  });
  return rng.chance(3) ? path + rng.pick(['/', '//', '/x', '%', ';a=b', '?', '#x', '/.', '/..']) : path;
}

/** Lone surrogates are sent as the replacement character, as every client does. */
function drawSegment(value: string, rng: Rng): string {
  if (rng.chance(3)) return rng.pick(['%', '%zz', '%ff', '%00', '%C0%AF', '%2e%2e', '%ED%A0%80', '*', '']);
  return segment(value.toWellFormed());
}

/** Lists and objects may have no prototype, so they cannot be converted by `String`. */
function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function drawQuery(parameters: readonly ApiParameter[], rng: Rng): string {
  const given = parameters
    .filter((parameter) => parameter.in === 'query' && rng.chance(50))
    .map(
      ({ name, schema }) =>
        `${name}=${segment(asText(rng.chance(75) ? drawValue(name, schema, rng) : junkText(rng)).toWellFormed())}`,
    );
  if (rng.chance(5))
    given.push(`${segment(junkText(rng).toWellFormed())}=${segment(asText(junkValue(rng, 0)).toWellFormed())}`);
  if (rng.chance(3) && given[0] !== undefined) given.push(given[0]);
  if (rng.chance(2)) given.push(rng.pick(['&', '=', '%', '%zz', 'a[b]=c', '__proto__=x', 'constructor[prototype]=x']));
  return given.join('&');
}

function drawBody({ method, body: schema }: Endpoint, rng: Rng): string | Buffer | null {
  if (schema === null) return method !== 'GET' && rng.chance(5) ? '{}' : null;
  if (rng.chance(3)) return null;
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  const wanted = Object.entries(properties).filter(([name]) => required.includes(name) || rng.chance(60));
  let value: unknown = drawObject(Object.fromEntries(wanted), rng);
  for (let times = rng.pick([0, 0, 1, 1, 2]); times > 0; times--) value = spoilValue(value, rng);
  const text = JSON.stringify(value) ?? '';
  return rng.chance(10) ? spoilText(text, rng) : text;
}

function drawToken(token: string, rng: Rng): Readonly<Record<string, string>> {
  if (rng.chance(90)) return { 'x-sync-api-token': token };
  if (rng.chance(40)) return { authorization: `Bearer ${token}` };
  const spoilt = token.slice(0, rng.below(token.length)) + rng.pick(['', 'x', '%00', ' ', ',']);
  return rng.pick([{}, { 'x-sync-api-token': spoilt }, { authorization: spoilt }, { authorization: 'Basic YTpi' }]);
}

function drawHeaders(hasBody: boolean, rng: Rng): Readonly<Record<string, string>> {
  const type = rng.chance(94)
    ? 'application/json'
    : rng.pick([
        'text/plain',
        'application/xml',
        '',
        'application/json;charset=utf-16',
        'multipart/form-data',
        ';',
        'application/json, text/html',
      ]);
  return {
    ...(hasBody || rng.chance(10) ? { 'content-type': type } : {}),
    ...(rng.chance(20)
      ? {
          accept: rng.pick([
            'text/plain',
            'application/json',
            '*/*',
            'text/html',
            '',
            'a/b;q=x',
            ';',
            'text/plain;q=0',
          ]),
        }
      : {}),
    ...(rng.chance(5) ? { 'accept-encoding': rng.pick(['gzip', 'br', '*', 'gzip;q=0', 'x;q=', ',', 'gzip, br']) } : {}),
    ...(rng.chance(3) ? { 'content-encoding': rng.pick(['gzip', 'identity', 'x', '']) } : {}),
    ...(rng.chance(3)
      ? { [rng.pick(['x-forwarded-for', 'x-request-id', 'x-http-method-override', 'origin', 'cookie'])]: 'x' }
      : {}),
  };
}
