import type { SettingInForce } from '@tidemark/protocol';
import type { SettledValue } from './setting-value.ts';

const MASK = '***';

/** A setting as administrators see it. A secret that is set is masked. */
export function shownSetting({ setting, value, origin }: SettledValue): SettingInForce {
  const isHidden = setting.secret === true && value !== null;
  return { name: setting.name, value: isHidden ? MASK : value, origin: origin.name, kind: origin.kind };
}
