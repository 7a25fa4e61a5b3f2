import type { AddressInfo } from 'node:net';
import { DEFAULT_LIMITS } from '@tidemark/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BODY_CONTAINERS_MAX,
  BODY_DEPTH_MAX,
  DEVICE_BODY_CONTAINERS_MAX,
  DEVICE_BODY_DEPTH_SPARE,
  ENVELOPE_NAMES_MAX,
  OBJECT_MEMBERS_MAX,
  PARSE_SLICE_BYTES,
} from '../limits.ts';
import { buildHttp } from './app.ts';
import { bodyBounds, DEFAULT_BODY_BOUNDS, parseJsonBody } from './json-body.ts';

const BODY_BYTES = 10_000_000;
const code = (text: string, bounds = DEFAULT_BODY_BOUNDS.other) =>
  parseJsonBody(Buffer.from(text), bounds).then(
    () => 'taken',
    (refusal) => refusal.code,
  );
const fields = (count: number) => `{${Array.from({ length: count }, (_, index) => `"f${index}":{"x":1}`).join(',')}}`;

describe('a body', () => {
  it('[HARD-68] a body may have as many fields as any request has, and no more', async () => {
    expect(await code(fields(ENVELOPE_NAMES_MAX))).toBe('taken');
    expect(await code(fields(ENVELOPE_NAMES_MAX + 1))).toBe('limit_exceeded');
  });

  it('[HARD-34] a duplicate field is found however far apart both are', async () => {
    const long = `"objects":{"1":{"a":"${'x'.repeat(3 * PARSE_SLICE_BYTES)}"}}`;
    expect(await code(`{"user_id":"anna",${long}}`)).toBe('taken');
    expect(await code(`{"user_id":"anna",${long},"user_id":"bob"}`)).toBe('invalid_json');
    expect(await code(`{"user_id":"anna",${long},"\\u0075ser_id":"bob"}`)).toBe('invalid_json');
  });
});

describe('the bounds of a body', () => {
  const { device, other } = DEFAULT_BODY_BOUNDS;
  /** The envelope is an object and a list; the items are empty lists. */
  const lists = (count: number) => `{"data":[${'[],'.repeat(count - 3)}[]]}`;
  const nested = (depth: number) => `{"data":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

  it('[HARD-71] a body may have as many lists and objects as the limit says, that of a device fewer', async () => {
    expect(await code(lists(DEVICE_BODY_CONTAINERS_MAX), device)).toBe('taken');
    expect(await code(lists(DEVICE_BODY_CONTAINERS_MAX + 1), device)).toBe('body_too_large');
    expect(await code(lists(BODY_CONTAINERS_MAX), other)).toBe('taken');
    expect(await code(lists(BODY_CONTAINERS_MAX + 1), other)).toBe('body_too_large');
  });

  it('[HARD-71] a body of a device is nested little deeper than a value may be', async () => {
    const depthMax = DEFAULT_LIMITS.valueDepthMax + DEVICE_BODY_DEPTH_SPARE;
    expect(await code(nested(depthMax), device)).toBe('taken');
    expect(await code(nested(depthMax + 1), device)).toBe('too_deep');
    expect(await code(nested(BODY_DEPTH_MAX), other)).toBe('taken');
    expect(await code(nested(BODY_DEPTH_MAX + 1), other)).toBe('too_deep');
  });

  it('[HARD-71] the bounds grow with the limits of a write', () => {
    expect(bodyBounds({ ...DEFAULT_LIMITS, objectsPerWriteMax: 300_000, valueDepthMax: 1_020 })).toEqual({
      other: { depthMax: BODY_DEPTH_MAX, objectMembersMax: 300_000, containersMax: 3_000_000 },
      device: { depthMax: BODY_DEPTH_MAX, objectMembersMax: 300_000, containersMax: DEVICE_BODY_CONTAINERS_MAX },
    });
    const { objectMembersMax, containersMax } = bodyBounds({ ...DEFAULT_LIMITS, objectsPerWriteMax: 10 }).other;
    expect([objectMembersMax, containersMax]).toEqual([OBJECT_MEMBERS_MAX, BODY_CONTAINERS_MAX]);
  });

  it('[HARD-71] 100,000 objects with dozens of attributes are within the bounds', async () => {
    const attributes = Array.from({ length: 24 }, (_, index) => `"a${index}":${index}`).join(',');
    const objects = Array.from({ length: 100_000 }, (_, index) => `"${index}":{${attributes}}`);
    expect(await code(`{"user_id":"anna","objects":{${objects.join(',')}}}`, other)).toBe('taken');
  });
});

describe('an object in a body', () => {
  const refusal = (text: string) =>
    parseJsonBody(Buffer.from(text)).then(
      () => 'taken',
      ({ code: given, message, flaws }) => [given, message, flaws[0]?.pointer],
    );

  it('[ADMIT-8] a duplicate id is refused and named, in every spelling and however far apart', async () => {
    expect(await refusal('{"objects":{"1":{"a":1},"2":{},"1":{"b":2}}}')).toEqual([
      'duplicate_id',
      '"1" occurs twice in "objects"; merge both into one',
      '/objects/1',
    ]);
    const long = `"2":{"a":"${'x'.repeat(3 * PARSE_SLICE_BYTES)}"}`;
    for (const [first, second] of [
      ['"a"', '"a"'],
      ['"a"', '"\\u0061"'],
      ['"\\n"', '"\\u000a"'],
      ['"__proto__"', '"__proto__"'],
    ]) {
      const objects = `{${first}:{},${long},${second}:{}}`;
      expect(await code(`{"user_id":"anna","data":{"a":{}},"objects":${objects}}`)).toBe('duplicate_id');
    }
    expect(await code(`{"data":{"a":{},"b":{}},"objects":{"a":{},${long},"b":{"a":1}}}`)).toBe('taken');
  });

  it('[ADMIT-8] of a duplicate attribute in one object the last one counts', async () => {
    expect(await parseJsonBody(Buffer.from('{"objects":{"1":{"a":1,"a":2}}}'))).toEqual({ objects: { 1: { a: 2 } } });
    expect(await code('[{"a":1,"a":2}]')).toBe('taken');
    expect(await code('{"a":[{"b":1,"b":2}],"c":null}')).toBe('taken');
  });
});

describe('ten megabytes through a socket', () => {
  /** Turns of the event loop from the last byte of the body until it is parsed. */
  let turns = 0;
  let app: Awaited<ReturnType<typeof buildHttp>>;
  let url = '';

  beforeAll(async () => {
    app = await buildHttp({ bodyBytesMax: BODY_BYTES }, (to) => {
      to.addHook('preParsing', async (_request, _reply, payload) => {
        payload.once('end', countTurns);
        return payload;
      });
      to.post('/', async (request) => {
        stopCounting();
        return { units: JSON.stringify(request.body).length };
      });
      to.addHook('onError', async () => stopCounting());
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;
  });

  afterAll(() => app.close());

  let isCounting = false;
  function countTurns(): void {
    isCounting = true;
    turns = 0;
    const count = () => {
      if (!isCounting) return;
      turns++;
      setImmediate(count);
    };
    setImmediate(count);
  }
  function stopCounting(): void {
    isCounting = false;
  }

  const send = async (body: string) => {
    expect(body.length).toBeLessThanOrEqual(BODY_BYTES);
    const headers = { 'content-type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body })).json();
  };
  const stretches = (body: string) => Math.floor(body.length / PARSE_SLICE_BYTES) - 1;

  it.each([
    [
      '100,000 objects',
      () =>
        JSON.stringify({
          objects: Object.fromEntries(
            Array.from({ length: 100_000 }, (_, index) => [
              `object-${index}`,
              { name: `thing ${index}`, price: index, text: 'x'.repeat(30) },
            ]),
          ),
        }),
    ],
    ['as many lists as are allowed', () => `{"objects":[${'["xxxx"],'.repeat(BODY_CONTAINERS_MAX - 3)}[]]}`],
    ['one list of numbers', () => `{"objects":{"1":{"a":[${'7,'.repeat(4_900_000)}7]}}}`],
  ])('[HARD-67] ten megabytes of %s let other work run after every slice', async (_what, make) => {
    const body = make();
    expect(await send(body)).toEqual({ units: body.length });
    expect(turns).toBeGreaterThanOrEqual(stretches(body));
  });

  it('[HARD-67] ten megabytes that end in the middle let other work run after every slice', async () => {
    const body = `{"objects":[${'["xxxx"],'.repeat(BODY_CONTAINERS_MAX - 3)}[]]`;
    expect(await send(body)).toMatchObject({ code: 'invalid_json' });
    expect(turns).toBeGreaterThanOrEqual(stretches(body));
  });
});
