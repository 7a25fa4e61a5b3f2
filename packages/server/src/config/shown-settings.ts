import type { SettingInForce } from '@tidemark/protocol';
import type { SettingProblem } from './config-problem.ts';
import type { SettledValue } from './setting-value.ts';

const MASK = '***';

/** The settings as administrators see them, with the warnings about them. A secret that is set is masked. */
export function shownSettings(
  values: readonly SettledValue[],
  warnings: readonly SettingProblem[],
): readonly SettingInForce[] {
  return values.map(({ setting: { name, secret = false }, value, origin }) => ({
    name,
    value: secret && value !== null ? MASK : value,
    origin: origin.name,
    kind: origin.kind,
    warning: warnings.find(({ setting }) => setting === name)?.detail ?? null,
  }));
}
