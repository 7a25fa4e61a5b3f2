import type { JobQueue, ListedFile, Receipt, Source } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { findInsights, type Known } from './find-insights.ts';

const NOW_MS = Date.parse('2030-01-31T12:00:00Z');
const NOTHING: Known = {
  ready: undefined,
  queues: undefined,
  receipts: [],
  sources: undefined,
  queried: undefined,
  failing: [],
  missingFiles: [],
  settings: undefined,
};
const titlesOf = (known: Partial<Known>) => findInsights({ ...NOTHING, ...known }, NOW_MS).map(({ title }) => title);

it('[CONSOLE-25] a disk with less than 1 GB free, a failing check and a warning of the store are problems', () => {
  const disk = (detail: string) => ({ status: 'ready', checks: [{ name: 'disk', ok: true, detail }] });
  expect(titlesOf({ ready: disk('0.9 GB free') })).toEqual(['The disk is nearly full']);
  expect(titlesOf({ ready: disk('1.0 GB free') })).toEqual([]);
  const checks = [
    { name: 'store', ok: false, detail: 'does not write' },
    { name: 'warning', ok: true, detail: 'no replica' },
  ];
  expect(titlesOf({ ready: { status: 'not_ready', checks } })).toEqual(['The check “store” fails', 'The server warns']);
});

it('[CONSOLE-25] a commonly guessed password of the administrator is a problem, and it is told how to end it', () => {
  const setting = {
    name: 'admin_password',
    value: '***',
    origin: 'TIDEMARK_ADMIN_PASSWORD',
    kind: 'environment',
  } as const;
  const warning = 'admin_password is a commonly guessed password; choose another';
  expect(findInsights({ ...NOTHING, settings: [{ ...setting, warning }] }, NOW_MS)).toEqual([
    {
      title: 'The setting “admin_password” is risky',
      remedy: 'admin_password is a commonly guessed password; choose another.',
      to: '/system',
      at: 'System',
    },
  ]);
  expect(titlesOf({ settings: [{ ...setting, warning: null }] })).toEqual([]);
});

it('[CONSOLE-25] a source with a backend that was never queried is a problem after ten minutes', () => {
  const source = (name: string, minutes: number, adapter: 'http' | 'none' = 'http') =>
    ({ name, adapter, created_at: new Date(NOW_MS - minutes * 60_000).toISOString() }) as unknown as Source;
  const sources = [source('Old', 11), source('Young', 9), source('Pushed', 11, 'none'), source('Queried', 11)];
  expect(titlesOf({ sources, queried: new Set(['Queried']) })).toEqual(['The source “Old” was never refreshed']);
  // What fails is told with its reason instead.
  const failing = [{ source: 'Old', detail: 'the backend answered 503' }];
  expect(titlesOf({ sources, queried: new Set(['Queried']), failing })).toEqual(['The last refresh of “Old” failed']);
  expect(titlesOf({ sources })).toEqual([]);
});

it('[CONSOLE-25] a backend that fails, dead jobs, paused queues and devices behind for a day are problems', () => {
  const queue = { queue: 'uploads', paused: true, counts: { dead: 2 } } as unknown as JobQueue;
  const behind = (hours: number) =>
    ({ source: 'Order', behind: 1, oldest_behind_at: new Date(NOW_MS - hours * 3_600_000).toISOString() }) as Receipt;
  expect(
    titlesOf({
      ready: { status: 'ready', backend: { state: 'open', failures: 5 } },
      queues: [queue],
      receipts: [behind(25), behind(23)],
    }),
  ).toEqual([
    'The backend does not answer',
    '2 dead jobs',
    'The queue “uploads” is paused',
    '1 device is behind in “Order”',
  ]);
});

it('[PG-214] each fault of a connector is a problem, with its reason', () => {
  const faults = [{ code: 'behind', message: 'it is 34 h behind' }];
  const connectors = [
    { name: 'field', faults },
    { name: 'other', faults: [] },
  ];
  expect(findInsights({ ...NOTHING, ready: { status: 'ready', connectors } }, NOW_MS)).toEqual([
    {
      title: 'The connector “field” is behind',
      remedy: 'It is 34 h behind.',
      to: '/connectors',
      at: 'Connectors',
    },
  ]);
});

it('[FILES-24] files that have not arrived for more than a day are a problem, with the device that has the oldest', () => {
  const missing = (hours: number, devices: ListedFile['devices']) =>
    ({ name: 'bow.jpg', missing_since: new Date(NOW_MS - hours * 3_600_000).toISOString(), devices }) as ListedFile;
  expect(titlesOf({ missingFiles: [missing(23, [])] })).toEqual([]);
  const remedyOf = (file: ListedFile) => findInsights({ ...NOTHING, missingFiles: [file] }, NOW_MS)[0]?.remedy;
  const device = { user_id: 'ada', client_id: 'c1' };
  const end = 'its user has to open the app with a network.';
  expect(remedyOf(missing(25, [device]))).toBe(`The oldest is “bow.jpg”. A device of “ada” has it; ${end}`);
  const [insight] = findInsights({ ...NOTHING, missingFiles: [missing(25, [device])] }, NOW_MS);
  expect(insight).toMatchObject({ to: '/files', search: { show: 'missing' } });
  expect(titlesOf({ missingFiles: [missing(25, [])] })).toEqual(['Files have not arrived for more than a day']);
});
