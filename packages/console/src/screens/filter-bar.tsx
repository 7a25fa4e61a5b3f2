import { Button, CloseButton, Group, NativeSelect, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { TextField } from '../components/fields.tsx';
import {
  type Asked,
  CONDITION_OPERATORS,
  type ConditionOperator,
  ID_FIELD,
  NOTHING_ASKED,
  needsValue,
  type ObjectCondition,
} from './object-conditions.ts';

interface FilterBarProps {
  readonly asked: Asked;
  /** Attributes that were seen. */
  readonly names: readonly string[];
  readonly onAsk: (asked: Asked) => void;
}

const OPERATORS = Object.entries(CONDITION_OPERATORS).map(([value, label]) => ({ value, label }));

/** Asks for objects by a text anywhere in them, and by conditions on attributes. Enter asks. */
export function FilterBar({ asked, names, onAsk }: FilterBarProps) {
  const [draft, setDraft] = useState(asked);
  const ask = (event: FormEvent) => {
    event.preventDefault();
    onAsk(draft);
  };
  const change = (next: Asked) => {
    setDraft(next);
    // What is taken away is no longer asked for, without another click.
    if (next.conditions.length < draft.conditions.length) onAsk(next);
  };
  const replace = (index: number, condition: ObjectCondition) =>
    change({ ...draft, conditions: draft.conditions.map((one, at) => (at === index ? condition : one)) });
  const isAsked = JSON.stringify(draft) === JSON.stringify(asked);
  const isEmpty = JSON.stringify(draft) === JSON.stringify(NOTHING_ASKED);
  return (
    <form onSubmit={ask} className="filter-bar" aria-label="Filter">
      <Stack gap={6}>
        {draft.conditions.map((condition, index) => (
          <ConditionLine
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place
            key={index}
            condition={condition}
            names={names}
            onChange={(next) => replace(index, next)}
            onRemove={() => change({ ...draft, conditions: draft.conditions.filter((_, at) => at !== index) })}
          />
        ))}
        <Group gap={6} align="end">
          <TextField
            label="Search"
            placeholder="text anywhere"
            size="xs"
            type="search"
            value={draft.searched}
            onText={(searched) => setDraft({ ...draft, searched })}
          />
          <Button
            size="xs"
            variant="default"
            onClick={() => setDraft({ ...draft, conditions: [...draft.conditions, { ...NEW_LINE }] })}
          >
            Add filter
          </Button>
          {!isAsked && (
            <Button size="xs" type="submit">
              Apply
            </Button>
          )}
          {!isEmpty && (
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                setDraft(NOTHING_ASKED);
                onAsk(NOTHING_ASKED);
              }}
            >
              Clear
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

const NEW_LINE: ObjectCondition = { attribute: '', operator: 'is', value: '' };

interface ConditionLineProps {
  readonly condition: ObjectCondition;
  readonly names: readonly string[];
  readonly onChange: (condition: ObjectCondition) => void;
  readonly onRemove: () => void;
}

function ConditionLine({ condition, names, onChange, onRemove }: ConditionLineProps) {
  const { attribute, operator, value } = condition;
  const known = [
    { value: '', label: 'Attribute …', disabled: true },
    { value: ID_FIELD, label: 'Id' },
    ...names.map((name) => ({ value: name, label: name })),
  ];
  return (
    <Group gap={6} align="center">
      <NativeSelect
        aria-label="Attribute"
        size="xs"
        value={attribute}
        onChange={(event) => onChange({ ...condition, attribute: event.currentTarget.value })}
        data={known}
      />
      <NativeSelect
        aria-label="Operator"
        size="xs"
        value={operator}
        onChange={(event) => onChange({ ...condition, operator: event.currentTarget.value as ConditionOperator })}
        data={OPERATORS}
      />
      {needsValue(operator) && (
        <TextField
          aria-label="Value"
          size="xs"
          value={value}
          onText={(text) => onChange({ ...condition, value: text })}
        />
      )}
      <CloseButton size="sm" aria-label="Remove this filter" onClick={onRemove} />
    </Group>
  );
}
