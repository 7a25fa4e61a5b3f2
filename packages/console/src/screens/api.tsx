import { Button, Group, NativeSelect, Stack, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { callApi, openApiDocument, SERVER_URL } from '../api/client.ts';
import { curlLine } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Command } from '../components/command.tsx';
import { TextField } from '../components/fields.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Failure, Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: unknown;
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

/** The description of the API. Calls are made with the session of the console. */
export function Api() {
  const query = useQuery({
    queryKey: ['openapi'],
    queryFn: async () => endpointsOf((await openApiDocument()) as ApiDocument),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Page title="API" about="Every call of the API for administrators and backends, to try with this session.">
      <Loaded query={query}>{(endpoints) => <Explorer endpoints={endpoints} />}</Loaded>
    </Page>
  );
}

function endpointsOf({ paths }: ApiDocument): readonly Endpoint[] {
  return Object.entries(paths)
    .filter(([path]) => /^\/(?:rc|app)\/v1\//.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
}

function Explorer({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const { operation } = useSearch({ strict: false }) as { readonly operation?: string };
  const [filter, setFilter] = useState('');
  const [id, setId] = useState(operation ?? 'sourcesList');
  const found = endpoints.filter(({ path, summary = '', operationId }) =>
    `${path} ${summary} ${operationId}`.toLowerCase().includes(filter.toLowerCase()),
  );
  const shown = found.find(({ operationId }) => operationId === id) ?? found[0];
  return (
    <Stack gap="md">
      <Group gap="sm" align="end">
        <TextField label="Find" type="search" value={filter} onText={setFilter} />
        <NativeSelect
          label={`Call (${found.length})`}
          value={shown?.operationId ?? ''}
          onChange={(event) => setId(event.currentTarget.value)}
          data={found.map(({ operationId, method, path }) => ({ value: operationId, label: `${method} ${path}` }))}
          flex="1 1 16rem"
        />
      </Group>
      {shown !== undefined && <TryCall key={shown.operationId} endpoint={shown} />}
    </Stack>
  );
}

function TryCall({ endpoint }: { readonly endpoint: Endpoint }) {
  const { method, path, summary, description, parameters = [], requestBody } = endpoint;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [body, setBody] = useState('{}');
  const [answer, setAnswer] = useState<{ readonly body: unknown } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const isAdmin = useIsAdmin();
  const url = urlOf(path, parameters, values);
  const hasBody = requestBody !== undefined;
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setAnswer(null);
    setError(null);
    await callApi(method, url, hasBody ? body : null).then((answered) => setAnswer({ body: answered }), setError);
    setBusy(false);
  };
  return (
    <form className="card" onSubmit={send}>
      <Stack gap="md">
        <Group gap="sm" wrap="nowrap">
          <StateBadge tone={method === 'GET' ? 'good' : 'warn'}>{method}</StateBadge>
          <Text fw={600} className="long">
            {path}
          </Text>
        </Group>
        <Text size="sm" className="long">
          <WithCode text={[summary, description].filter(Boolean).join('. ')} />
        </Text>
        {parameters
          .filter((parameter) => parameter.in !== 'header')
          .map(({ name, description: about, required = false }) => (
            <TextField
              key={name}
              label={name}
              description={about}
              required={required}
              value={values[name] ?? ''}
              onText={(text) => setValues({ ...values, [name]: text })}
            />
          ))}
        {hasBody && (
          <Textarea
            label="Body"
            className="code"
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
            rows={6}
            spellCheck={false}
          />
        )}
        <Command label="curl" text={curlLine(`${SERVER_URL}${url}`, method, hasBody ? body : null)} />
        <Group justify="flex-end">
          <Button type="submit" loading={isBusy} disabled={method !== 'GET' && !isAdmin}>
            Send request
          </Button>
        </Group>
        {error !== null && <Failure error={error} />}
        {answer !== null && (
          <Stack gap={6} role="status">
            <Text size="sm" fw={600}>
              Answer
            </Text>
            <JsonView label="Answer" value={answer.body} />
          </Stack>
        )}
      </Stack>
    </form>
  );
}

function urlOf(path: string, parameters: readonly Parameter[], values: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = parameters.filter((parameter) => parameter.in === 'query' && (values[parameter.name] ?? '') !== '');
  const text = new URLSearchParams(query.map(({ name }) => [name, values[name] ?? ''])).toString();
  return text === '' ? filled : `${filled}?${text}`;
}

/** A text with `code` between backticks. */
function WithCode({ text }: { readonly text: string }) {
  return text.split('`').map((part, index) => {
    const key = `${index} ${part}`;
    return index % 2 === 0 ? <span key={key}>{part}</span> : <code key={key}>{part}</code>;
  });
}
