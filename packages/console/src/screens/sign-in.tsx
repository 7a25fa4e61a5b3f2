import { Anchor, Button, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { TidemarkError } from '@tidemark/backend';
import { type FormEvent, useEffect, useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { setSession } from '../api/session.ts';
import { Failure } from '../components/loaded.tsx';
import icon from '../icon.svg';

interface ProviderAnswer {
  readonly code: string;
  readonly state: string;
  /** Why the identity provider has not signed anybody in; null: it has. */
  readonly refused: string | null;
}

/** What the identity provider has sent the browser back with. It counts once, so it is removed from the address. */
let answer = takeAnswer();

function takeAnswer(): ProviderAnswer | null {
  const { pathname, search } = window.location;
  const parameters = new URLSearchParams(search);
  const [code, state, refused] = ['code', 'state', 'error'].map((name) => parameters.get(name));
  if (!state || (!code && !refused)) return null;
  window.history.replaceState(null, '', pathname);
  return { code: code ?? '', state, refused: refused ? (parameters.get('error_description') ?? refused) : null };
}

/** Ends the sign-in that the identity provider has answered, if there is one. */
async function finishSignIn(): Promise<void> {
  const given = answer;
  answer = null;
  if (given === null) return;
  if (given.refused !== null) throw new Error(`the identity provider refused the sign-in: ${given.refused}`);
  setSession(await client.session.signIn({ code: given.code, state: given.state }));
}

/** Signs in with a password, a token or an identity provider. The token stays in a cookie that no script can read. */
export function SignIn() {
  const [isByToken, setByToken] = useState(false);
  const [login, setLogin] = useState('admin');
  const [secret, setSecret] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Tidemark';
    finishSignIn().catch(setError);
  }, []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      setSession(await client.session.signIn(isByToken ? { token: secret.trim() } : { login, password: secret }));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="center">
      <form className="card signin" onSubmit={submit}>
        <Stack gap="md">
          <Stack gap={6} align="center">
            <img src={icon} width={44} height={44} alt="" />
            <Title order={1} size="h3">
              Sign in to Tidemark
            </Title>
            <Text size="sm" c="dimmed" className="long">
              {SERVER_URL}
            </Text>
          </Stack>
          {!isByToken && (
            <TextInput
              label="Login"
              value={login}
              onChange={(event) => setLogin(event.currentTarget.value)}
              autoComplete="username"
              required
            />
          )}
          <PasswordInput
            label={isByToken ? 'Token' : 'Password'}
            description={isByToken ? 'A token with the scope admin, or read for a console without actions.' : undefined}
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
            autoComplete={isByToken ? 'off' : 'current-password'}
            visibilityToggleButtonProps={{ 'aria-label': 'Show what was typed' }}
            required
            autoFocus
          />
          {error !== null && <Problem error={error} />}
          <Button type="submit" loading={isBusy} fullWidth>
            Sign in
          </Button>
          <Anchor component="button" type="button" size="sm" ta="center" onClick={() => setByToken(!isByToken)}>
            {isByToken ? 'Use a password' : 'Use a token'}
          </Anchor>
          <ProviderButton onError={setError} />
          <Text size="xs" c="dimmed" ta="center">
            The first start of the server prints the password. If it is lost: tidemark admin reset-password
          </Text>
        </Stack>
      </form>
    </main>
  );
}

/** Leads to the identity provider of administrators, if there is one. */
function ProviderButton({ onError }: { readonly onError: (error: unknown) => void }) {
  const { data } = useQuery({ queryKey: ['sign-in provider'], queryFn: () => client.session.provider() });
  const [isBusy, setBusy] = useState(false);
  if (!data?.name) return null;
  const begin = async () => {
    setBusy(true);
    onError(null);
    try {
      window.location.assign((await client.session.begin()).url);
    } catch (failure) {
      onError(failure);
      setBusy(false);
    }
  };
  return (
    <Button variant="default" onClick={begin} loading={isBusy} fullWidth>
      Sign in with {data.name}
    </Button>
  );
}

function Problem({ error }: { readonly error: unknown }) {
  const isWrong =
    error instanceof TidemarkError && (error.code === 'invalid_credentials' || error.code === 'token_invalid');
  if (!isWrong) return <Failure error={error} />;
  return (
    <Text c="var(--mantine-color-error)" size="sm" role="alert">
      {error.code === 'token_invalid' ? 'The token is mistyped, expired or revoked.' : 'Login or password is wrong.'}
    </Text>
  );
}
