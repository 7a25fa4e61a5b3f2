import { expect, it } from 'vitest';
import { describeDevice } from './describe-device.ts';

const AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';

it('[SESSION-16] a device finds out what it runs on, and the app may say otherwise', () => {
  const web = { navigator: { userAgent: AGENT } };
  expect(describeDevice({ app: 'Field', version: '2' }, web)).toEqual({
    ...{ device_app_id: 'Field', device_app_version: '2', device_name: undefined },
    ...{ device_platform: 'web', device_system: AGENT },
  });
  const node = { process: { versions: { node: '22.1.0' }, platform: 'linux' }, navigator: { userAgent: 'Node.js/22' } };
  expect(describeDevice({ name: 'Till' }, node)).toMatchObject({
    ...{ device_name: 'Till', device_platform: 'node', device_system: 'Node.js 22.1.0 on linux' },
  });
  const native = { navigator: { product: 'ReactNative' } };
  expect(describeDevice({}, native)).toMatchObject({ device_platform: 'react-native', device_system: undefined });
  expect(describeDevice({ platform: 'ios', system: 'iOS 17' }, native)).toMatchObject({
    ...{ device_platform: 'ios', device_system: 'iOS 17' },
  });
});
