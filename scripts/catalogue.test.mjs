import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as protocol from '@tidemark/protocol';
import { serverLimits } from '@tidemark/server';
import { describe, expect, it } from 'vitest';
import * as clientLimits from '../packages/client/src/limits.ts';
import { errorProblems, limitProblems } from './catalogue.mjs';
import { ROOT } from './processes.mjs';

function read(path) {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Every bound there is: the operator's, the constants beside them, the lengths of names, those of the edge, and those of devices. */
function everyLimit() {
  const constants = [...read('packages/protocol/src/limits.ts').matchAll(/^export const (\w+)/gm)].map(
    ([, name]) => name,
  );
  const exported = new Map(Object.entries(protocol));
  return {
    ...protocol.DEFAULT_LIMITS,
    ...Object.fromEntries(
      constants.filter((name) => name !== 'DEFAULT_LIMITS').map((name) => [name, exported.get(name)]),
    ),
    ...Object.fromEntries(
      Object.entries(protocol.NAME_BYTES_MAX).map(([kind, max]) => [`NAME_BYTES_MAX.${kind}`, max]),
    ),
    ...serverLimits,
    ...clientLimits,
  };
}

describe('docs/reference/errors.md', () => {
  const refusals = { no_such_boat: { status: 404 }, boat_taken: { status: 409 } };
  const table = '| Code | Status | When | What to do |\n|---|---|---|---|\n| `no_such_boat` | 404 | a | b |\n';

  it('lists the refusals of the protocol, with their status', () => {
    expect(errorProblems(read('docs/reference/errors.md'), protocol.REFUSALS)).toEqual([]);
  });

  it('tells a refusal that is not listed', () => {
    expect(errorProblems(table, refusals)).toEqual(['boat_taken: is missing in the table']);
  });

  it('tells a refusal that is listed twice, one with the wrong status, one without words, one that is none', () => {
    const rows = '| `no_such_boat` | 404 | a | b |\n| `boat_taken` | 404 | a | b |\n| `boat_sunk` | 410 | a | |\n';
    expect(errorProblems(table + rows, refusals)).toEqual([
      'boat_sunk: is in the table, but not in the code',
      'no_such_boat: is in the table twice',
      'boat_taken: the table says 404, the code 409',
      'boat_sunk: says not when it occurs and what to do',
    ]);
  });
});

describe('docs/reference/limits.md', () => {
  const refusals = { too_many_boats: { status: 422 } };
  const limits = { BOATS_MAX: 1_000, oarsMax: 8 };
  const table = '| Limit | Value | Unit | Bounds | Beyond it |\n|---|---|---|---|---|\n';
  const boats = '| `BOATS_MAX` | 1,000 | boats | a harbour | `too_many_boats` |\n';

  it('lists the limits of the protocol, with their values', () => {
    expect(limitProblems(read('docs/reference/limits.md'), everyLimit(), protocol.REFUSALS)).toEqual([]);
  });

  it('the limits that are looked at are all there', () => {
    const found = everyLimit();
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining([
        'valueDepthMax',
        'METRICS_MAX',
        'NAME_BYTES_MAX.login',
        'SOCKETS_MAX',
        'UPLOADS_WAITING_MAX',
      ]),
    );
    expect(Object.values(found).filter((value) => typeof value !== 'number')).toEqual([]);
  });

  it('tells a limit that is not listed', () => {
    expect(limitProblems(table + boats, limits, refusals)).toEqual(['oarsMax: is missing in the table']);
  });

  it('tells a wrong value, a missing unit, a refusal that does not exist, a limit that is none', () => {
    const rows = '| `oarsMax` | 9 | | a boat | `too_many_oars` |\n| `MASTS_MAX` | 3 | masts | a boat | – |\n';
    expect(limitProblems(table + boats + rows, limits, refusals)).toEqual([
      'MASTS_MAX: is in the table, but not in the code',
      'oarsMax: the table says 9, the code 8',
      'oarsMax: has no unit, or does not say what it bounds',
      'oarsMax: "`too_many_oars`" is neither a refusal nor "– what happens instead"',
      'MASTS_MAX: "–" is neither a refusal nor "– what happens instead"',
    ]);
  });

  it('says what happens instead where nothing is refused', () => {
    const rows = '| `oarsMax` | 8 | oars | a boat | – the ninth is left ashore |\n';
    expect(limitProblems(table + boats + rows, limits, refusals)).toEqual([]);
  });
});
