import type { AddStep, RemoveStep, RenameStep } from '../step.ts';
import { followRule, type Lens, put, requireFree } from './lens.ts';

export const rename: Lens<RenameStep> = {
  down(values, { attribute, to }) {
    const value = values.get(to);
    if (value === undefined) return;
    values.delete(to);
    values.set(attribute, value);
  },
  up(change, _newer, { attribute, to }) {
    requireFree(change, [to]);
    const value = change.set.get(attribute);
    if (change.removed.delete(attribute)) change.removed.add(to);
    if (value === undefined) return;
    change.set.delete(attribute);
    put(change, to, value);
  },
  renew(values, { attribute, to }) {
    const value = values.get(attribute);
    if (value === undefined) return;
    values.delete(attribute);
    if (!values.has(to)) values.set(to, value);
  },
};

export const add: Lens<AddStep> = {
  down(values, { attribute }) {
    values.delete(attribute);
  },
  up({ set }, newer, { attribute, value }) {
    if (newer === null && !set.has(attribute)) set.set(attribute, value);
  },
  renew(values, { attribute, value }) {
    if (!values.has(attribute)) values.set(attribute, value);
  },
};

export const removal: Lens<RemoveStep> = {
  down(values, { attribute, shown_as }) {
    if (shown_as !== undefined && !values.has(attribute)) values.set(attribute, shown_as);
  },
  up({ set, removed }, _newer, { attribute, otherwise }) {
    // It is not there any more.
    removed.delete(attribute);
    if (!set.has(attribute)) return;
    const drop = () => void set.delete(attribute);
    const detail = 'does not exist in the newer version';
    followRule(otherwise, { attribute, detail, write: drop, drop, nearest: drop });
  },
  renew(values, { attribute }) {
    values.delete(attribute);
  },
};
