import { expect, it } from 'vitest';
import { shownNameOf, versionsOf } from './device-facts.ts';

const UNKNOWN = {
  ...{ label: null, device_name: null, device_platform: null, device_system: null },
  ...{ device_app_id: null, device_app_version: null },
};

it('[CONSOLE-93] a device is known by its label, else its own name, else its system or platform and its app, else by nothing', () => {
  const app = { device_platform: 'web', device_app_id: 'Field', device_app_version: '2.3' };
  const facts = { ...UNKNOWN, ...app, device_system: 'Firefox 128 on Linux' };
  expect([
    shownNameOf({ ...facts, device_name: 'Till', label: 'Van 7' }),
    shownNameOf({ ...facts, device_name: 'Till' }),
    shownNameOf(facts),
    shownNameOf({ ...UNKNOWN, ...app }),
    shownNameOf({ ...UNKNOWN, device_app_id: 'Field' }),
    shownNameOf({ ...UNKNOWN, device_platform: 'web' }),
    shownNameOf(UNKNOWN),
  ]).toEqual(['Van 7', 'Till', 'Firefox 128 on Linux · Field 2.3', 'web · Field 2.3', 'Field', 'web', null]);
});

it('[SCHEMA-18] the versions of schemas that an app says are listed with their sources', () => {
  expect(versionsOf({ schema_versions: { Order: 2, Product: 1 } })).toBe('Order 2, Product 1');
  expect([versionsOf({ schema_versions: {} }), versionsOf({ schema_versions: null })]).toEqual([
    'not told',
    'not told',
  ]);
});
