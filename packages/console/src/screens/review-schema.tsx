import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import type { TidemarkClient } from '@tidemark/backend';
import type { SchemaChanges, SchemaDiff } from '@tidemark/protocol';
import { useEffect, useRef, useState } from 'react';
import { type ApiCall, curlOf } from '../api/curl.ts';
import { ActionForm } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { StateBadge, type Tone } from '../components/state-badge.tsx';
import { devicesOf } from './schema-change.ts';

export interface ReviewedSchema {
  readonly changes: SchemaChanges;
  readonly diff: SchemaDiff;
}

interface ReviewSchemaProps {
  readonly reviewed: ReviewedSchema;
  /** Leads back to the texts. */
  readonly onEdit: () => void;
  readonly onClose: () => void;
}

const KINDS: Readonly<Record<SchemaDiff['kind'], readonly [tone: Tone, words: string]>> = {
  equal: ['plain', 'The schema says what the present one says, so there is nothing to save.'],
  additive: ['good', 'Older apps notice nothing: all that they may write is still allowed.'],
  translatable: [
    'good',
    'The steps translate for older apps. The server converts the stored objects in the background.',
  ],
  breaking: ['bad', 'Older apps break: they would find, or write, what the new schema does not have.'],
};

const FIRST_WORDS =
  'It is the first schema of the source. Its mode is “report”: what does not fit is written and counted.';

/** What a schema means for the apps in use. One that breaks them is saved only after that was confirmed with their number. */
export function ReviewSchema({ reviewed: { changes, diff }, onEdit, onClose }: ReviewSchemaProps) {
  const [isConfirmed, setConfirmed] = useState(false);
  const verdict = useRef<HTMLDivElement>(null);
  // The review has replaced the button that had the focus.
  useEffect(() => verdict.current?.focus(), []);
  const isBreaking = diff.kind === 'breaking';
  const save = savingOf(diff, changes);
  const [tone, words] = KINDS[diff.kind];
  const isFirst = diff.version === 1 && diff.kind === 'additive';
  return (
    <ActionForm
      verb={`Save version ${diff.version}`}
      call={isBreaking ? (api) => requireAsReviewed(api, diff, changes).then(() => save(api)) : save}
      curl={curlOf(save)}
      isDisabled={diff.kind === 'equal' || (isBreaking && !isConfirmed)}
      hasPointers
      onClose={onClose}
    >
      <Stack gap="sm">
        <Group className="verdict" gap="sm" ref={verdict} tabIndex={-1} role="status">
          <StateBadge tone={tone}>{diff.kind}</StateBadge>
          <span>{isFirst ? FIRST_WORDS : words}</span>
        </Group>
        {diff.reasons.length > 0 && (
          <ul className="steps" aria-label="Reasons">
            {diff.reasons.map((reason) => (
              <li key={reason} className="long">
                {reason}
              </li>
            ))}
          </ul>
        )}
        {!isFirst && <Text size="sm">{deviceWords(diff)}</Text>}
        {isBreaking && (
          <Checkbox
            label={confirmWords(devicesOf(diff))}
            checked={isConfirmed}
            onChange={(event) => setConfirmed(event.currentTarget.checked)}
          />
        )}
        <Group>
          <Button size="compact-sm" variant="default" onClick={onEdit}>
            Edit again
          </Button>
        </Group>
      </Stack>
    </ActionForm>
  );
}

function savingOf({ source, kind }: SchemaDiff, changes: SchemaChanges): ApiCall {
  const sent = kind === 'breaking' ? { ...changes, force: true } : changes;
  return (api) => api.sources.setSchema(source, sent);
}

/** A forced call is not compared by the server, so what was confirmed must still be what the schema means. */
async function requireAsReviewed(api: TidemarkClient, diff: SchemaDiff, changes: SchemaChanges): Promise<void> {
  const { version, reasons } = await api.sources.diffSchema(diff.source, changes);
  if (version === diff.version && JSON.stringify(reasons) === JSON.stringify(diff.reasons)) return;
  throw new Error('Somebody has changed the schema since this review, and nothing was saved. Edit again, and review.');
}

function deviceWords({ devices, devices_without_version: unknown }: SchemaDiff): string {
  const said = Object.entries(devices).map(
    ([version, count]) => `${count.toLocaleString('en')} with version ${version}`,
  );
  const all = [...said, ...(unknown > 0 ? [`${unknown.toLocaleString('en')} that have not said a version`] : [])];
  return all.length === 0
    ? 'No device was here in the last 30 days.'
    : `Devices of the last 30 days: ${all.join(', ')}.`;
}

function confirmWords(devices: number): string {
  return devices === 0
    ? 'Save it although it breaks older apps: no device was here in the last 30 days'
    : `Save it although it can break the app of ${counted(devices, 'device')}`;
}
