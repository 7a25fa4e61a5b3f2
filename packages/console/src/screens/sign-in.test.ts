import { itLong, OIDC_ADMIN, OIDC_CLIENT, openOidcServer, useBrowser } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { describe, expect, it, onTestFinished } from 'vitest';

const PUBLIC_URL = 'https://sync.example';
/** Opens the console and signs a person in with the identity provider. */
async function signIn(browser: ReturnType<typeof useBrowser>, person: string) {
  const oidc = await openOidcServer({ redirectUrl: `${PUBLIC_URL}/console/`, roles: { olga: ['ops'] } });
  const issuer = {
    ...{ name: 'company', issuer: oidc.issuer, audiences: [OIDC_CLIENT], keys: { kind: 'discovery' } as const },
    ...{ clockSkewS: 60, userClaim: 'sub', groupsClaim: null, createsUsers: true, adoptsUsers: false },
    requiredClaims: new Map(),
  };
  const roles = new Map([['ops', ['admin'] as const]]);
  const adminSignIn = { issuer: 'company', ...OIDC_ADMIN, roleClaim: 'roles', roles, sessionS: 3_600 };
  const server = await startTestServer({ publicUrl: PUBLIC_URL, issuers: [issuer], adminSignIn });
  onTestFinished(async () => {
    await server.close();
    await oidc.close();
  });
  const page = await browser.openPage(`${server.url}/console/users`, { expectedErrors: [/status of 403/] });
  // The forms of the provider are filled in outside the browser, which then goes back to the console.
  await page.route(`${oidc.issuer}/**`, async (route) => {
    const proof = await oidc.authorize(route.request().url(), person);
    const location = `${server.url}/console/?${new URLSearchParams({ ...proof })}`;
    await route.fulfill({ status: 302, headers: { location } });
  });
  await page.getByRole('button', { name: 'Sign in with company' }).click();
  return page;
}

describe('with an identity provider', () => {
  const browser = useBrowser();

  it('[CONSOLE-1] an administrator signs in to the console with the identity provider, and the address keeps no code', async () => {
    const page = await signIn(browser, 'olga');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  itLong(
    '[CONSOLE-1] the console says why the identity provider signs somebody in who is not an administrator',
    async () => {
      const page = await signIn(browser, 'sven');
      await page.getByRole('alert').getByText('has no role of this server').waitFor();
      await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    },
  );
});
