import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { SchemaDiff, SchemaView, Source } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { quoted } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Empty } from '../components/command.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Part, Section } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { EditSchema } from './edit-schema.tsx';
import { SchemaAttributes } from './schema-attributes.tsx';
import { SchemaMisfits } from './schema-misfits.tsx';
import { SchemaSettings } from './schema-settings.tsx';
import { SchemaVersions } from './schema-versions.tsx';
import { MODE_WORDS } from './schema-words.ts';

const CONVERTING_REFRESH_MS = 2_000;

/** Reads the schema of a source that has one. */
export function schemaQuery(source: string) {
  return { queryKey: ['sources', source, 'schema'], queryFn: () => client.sources.schema(source) };
}

/** The schema of a source: what its attributes must be, its versions, and who uses them. */
export function SourceSchema({ source: { name, schema } }: { readonly source: Source }) {
  const isAdmin = useIsAdmin();
  if (schema !== null) return <StoredSchema source={name} />;
  return (
    <Section title="Schema" actions={isAdmin && <EditSchema source={name} view={null} />}>
      <Empty title="No schema yet" cli={`tidemark --url ${SERVER_URL} schema infer ${quoted(name)} > schema.json`}>
        A schema says what the attributes of the objects must be. Data that does not fit is counted or refused, and
        types for apps are made from it. It can be proposed from the objects that are stored.
      </Empty>
    </Section>
  );
}

function StoredSchema({ source }: { readonly source: string }) {
  const isAdmin = useIsAdmin();
  const query = useQuery({
    ...schemaQuery(source),
    refetchInterval: ({ state }) => (state.data?.converting === true ? CONVERTING_REFRESH_MS : false),
  });
  const view = query.data;
  const devices = useQuery({
    queryKey: ['sources', source, 'schema', 'devices', view?.version],
    // The comparison of the present schema with itself counts the devices.
    queryFn: () => client.sources.diffSchema(source, { schema: (view as SchemaView).schema }),
    enabled: view !== undefined,
  });
  const actions = isAdmin && view !== undefined && (
    <Group gap="xs">
      <SchemaSettings view={view} devices={devices.data} key={`${view.mode} ${view.version} ${view.oldest_version}`} />
      <EditSchema source={source} view={view} />
    </Group>
  );
  return (
    <Section title="Schema" actions={actions}>
      <Loaded query={query}>
        {(shown) => (
          <>
            <Facts facts={factsOf(shown)} />
            <Part title="Attributes">
              <SchemaTitle schema={shown.schema} />
              <SchemaAttributes schema={shown.schema} />
              <SchemaJson view={shown} />
            </Part>
            <Part title="Versions">
              <Loaded query={devices}>{(diff: SchemaDiff) => <SchemaVersions view={shown} devices={diff} />}</Loaded>
            </Part>
            {shown.mode === 'report' && (
              <Part title="What does not fit">
                <SchemaMisfits source={source} version={shown.version} />
              </Part>
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

function SchemaTitle({ schema: { title, description } }: Pick<SchemaView, 'schema'>) {
  const texts = [title, description].filter((text) => text !== undefined);
  if (texts.length === 0) return null;
  return (
    <Text size="sm" className="long">
      {texts.join(': ')}
    </Text>
  );
}

function factsOf({ mode, version, oldest_version, converting, set_at, schema }: SchemaView) {
  return [
    ['Mode', MODE_WORDS[mode]],
    ['Version', version.toLocaleString('en')],
    [
      'Oldest version',
      oldest_version === 1 ? '1: no app is refused' : `${oldest_version}: apps of older versions are refused`,
    ],
    [
      'Stored objects',
      converting ? (
        <StateBadge key="converting" tone="busy">
          {`are being converted to version ${version}`}
        </StateBadge>
      ) : (
        `are of version ${version}`
      ),
    ],
    ['Other attributes', schema.additionalProperties === false ? 'are not allowed' : 'are allowed'],
    ['Set', <Moment key="set" at={set_at} />],
  ] as const;
}

/** The schema and all steps as JSON, on demand. */
function SchemaJson({ view: { schema, steps } }: { readonly view: SchemaView }) {
  const [isShown, setShown] = useState(false);
  return (
    <Stack gap="xs">
      <Group>
        <Button
          size="compact-sm"
          variant="default"
          aria-expanded={isShown}
          onClick={() => setShown((wasShown) => !wasShown)}
        >
          {isShown ? 'Hide JSON' : 'Show JSON'}
        </Button>
      </Group>
      {isShown && <JsonView label="Schema as JSON" value={schema} />}
      {isShown && steps.length > 0 && <JsonView label="Steps of all versions as JSON" value={steps} />}
    </Stack>
  );
}
