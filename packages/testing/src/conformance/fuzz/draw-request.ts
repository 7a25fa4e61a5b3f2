import type { Dice } from '@tidemark/client-testing';
import type { Outgoing } from '../../kit/sender.ts';
import type { ApiParameter, Endpoint, Schema } from '../api-document.ts';
import { segment } from '../requests.ts';
import { drawObject, drawValue } from './draw-value.ts';
import { junkText, junkValue } from './junk.ts';
import { spoilText, spoilValue } from './spoil.ts';

/** Draws a request to an endpoint: often valid, often invalid in one place, sometimes in several. */
export function drawRequest(endpoint: Endpoint, token: string, dice: Dice): Outgoing {
  const { method, template, operation } = endpoint;
  const { parameters = [] } = operation;
  const path = drawPath(template, parameters, dice);
  const query = drawQuery(parameters, dice);
  const body = drawBody(endpoint, dice);
  return {
    method: dice.chance(3) ? dice.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']) : method,
    path: query === '' ? path : `${path}?${query}`,
    headers: { ...drawToken(token, dice), ...drawHeaders(body !== null, dice) },
    body,
  };
}

function drawPath(template: string, parameters: readonly ApiParameter[], dice: Dice): string {
  const path = template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const schema = parameters.find((parameter) => parameter.name === name)?.schema ?? {};
    const value = dice.chance(75) ? asText(drawValue(name, schema, dice)) : junkText(dice);
    return drawSegment(value, dice);
  });
  return dice.chance(3) ? path + dice.pick(['/', '//', '/x', '%', ';a=b', '?', '#x', '/.', '/..']) : path;
}

/** Lone surrogates are sent as the replacement character, as every client does. */
function drawSegment(value: string, dice: Dice): string {
  if (dice.chance(3)) return dice.pick(['%', '%zz', '%ff', '%00', '%C0%AF', '%2e%2e', '%ED%A0%80', '*', '']);
  return segment(value.toWellFormed());
}

/** Lists and objects may have no prototype, so they cannot be converted by `String`. */
function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function drawQuery(parameters: readonly ApiParameter[], dice: Dice): string {
  const given = parameters
    .filter((parameter) => parameter.in === 'query' && dice.chance(50))
    .map(
      ({ name, schema }) =>
        `${name}=${segment(asText(dice.chance(75) ? drawValue(name, schema, dice) : junkText(dice)).toWellFormed())}`,
    );
  if (dice.chance(5))
    given.push(`${segment(junkText(dice).toWellFormed())}=${segment(asText(junkValue(dice, 0)).toWellFormed())}`);
  if (dice.chance(3) && given[0] !== undefined) given.push(given[0]);
  if (dice.chance(2))
    given.push(dice.pick(['&', '=', '%', '%zz', 'a[b]=c', '__proto__=x', 'constructor[prototype]=x']));
  return given.join('&');
}

function drawBody({ method, body: schema }: Endpoint, dice: Dice): string | Buffer | null {
  if (schema === null) return method !== 'GET' && dice.chance(5) ? '{}' : null;
  if (dice.chance(3)) return null;
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  const wanted = Object.entries(properties).filter(([name]) => required.includes(name) || dice.chance(60));
  let value: unknown = drawObject(Object.fromEntries(wanted), dice);
  for (let times = dice.pick([0, 0, 1, 1, 2]); times > 0; times--) value = spoilValue(value, dice);
  const text = JSON.stringify(value) ?? '';
  return dice.chance(10) ? spoilText(text, dice) : text;
}

function drawToken(token: string, dice: Dice): Readonly<Record<string, string>> {
  if (dice.chance(90)) return { 'x-sync-api-token': token };
  if (dice.chance(40)) return { authorization: `Bearer ${token}` };
  const spoilt = token.slice(0, dice.below(token.length)) + dice.pick(['', 'x', '%00', ' ', ',']);
  return dice.pick([{}, { 'x-sync-api-token': spoilt }, { authorization: spoilt }, { authorization: 'Basic YTpi' }]);
}

function drawHeaders(hasBody: boolean, dice: Dice): Readonly<Record<string, string>> {
  const type = dice.chance(94)
    ? 'application/json'
    : dice.pick([
        'text/plain',
        'application/xml',
        '',
        'application/json;charset=utf-16',
        'multipart/form-data',
        ';',
        'application/json, text/html',
      ]);
  return {
    ...(hasBody || dice.chance(10) ? { 'content-type': type } : {}),
    ...(dice.chance(20)
      ? {
          accept: dice.pick([
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
    ...(dice.chance(5)
      ? { 'accept-encoding': dice.pick(['gzip', 'br', '*', 'gzip;q=0', 'x;q=', ',', 'gzip, br']) }
      : {}),
    ...(dice.chance(3) ? { 'content-encoding': dice.pick(['gzip', 'identity', 'x', '']) } : {}),
    ...(dice.chance(3)
      ? { [dice.pick(['x-forwarded-for', 'x-request-id', 'x-http-method-override', 'origin', 'cookie'])]: 'x' }
      : {}),
  };
}
