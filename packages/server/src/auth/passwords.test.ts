import { refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { openPasswords, type PasswordsOptions } from './passwords.ts';

const SCRYPT_ONLY: PasswordsOptions = { argon2: null };

describe('password hashes', () => {
  it.each([
    ['argon2id', {}, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/],
    ['scrypt', SCRYPT_ONLY, /^\$scrypt\$ln=14,r=8,p=5\$[\w-]{22}\$[\w-]{43}$/],
  ])('%s: a hash names its algorithm, has its own salt and verifies the right password', async (_, options, text) => {
    const passwords = await openPasswords(options);
    const [hash, other] = await Promise.all([passwords.hash('open sesame'), passwords.hash('open sesame')]);
    expect(hash).toMatch(text);
    expect(hash).not.toBe(other);
    expect(await passwords.verify('open sesame', hash)).toBe(true);
    expect(await passwords.verify('open sesame ', hash)).toBe(false);
    expect(await passwords.verify('', hash)).toBe(false);
  });

  it('scrypt hashes stay valid once argon2id is available', async () => {
    const hash = await (await openPasswords(SCRYPT_ONLY)).hash('pässwörd');
    const passwords = await openPasswords();
    expect(await passwords.verify('pässwörd', hash)).toBe(true);
    expect(await passwords.verify('passwort', hash)).toBe(false);
  });

  it('[USER-14] a hash is outdated if any of its cost parameters is below the current one, and only then', async () => {
    const argon2 = await openPasswords();
    const tail = '$c29tZXNhbHRzb21lc2FsdA$x';
    const argon2Hashes = ['m=19456,t=2,p=1', 'm=65536,t=3,p=4', 'm=19455,t=2,p=1', 'm=65536,t=1,p=1', 'm=4096,t=9,p=1'];
    expect(argon2Hashes.map((cost) => argon2.isOutdated(`$argon2id$v=19$${cost}${tail}`))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    expect(argon2.isOutdated(await argon2.hash('x'))).toBe(false);
    expect(argon2.isOutdated('$argon2id$v=16$m=65536,t=3,p=4$x$y')).toBe(true);
    const scrypt = await openPasswords(SCRYPT_ONLY);
    const ofScrypt = await scrypt.hash('x');
    expect([scrypt.isOutdated(ofScrypt), argon2.isOutdated(ofScrypt)]).toEqual([false, true]);
    const costs = ['ln=13,r=8,p=5', 'ln=14,r=7,p=5', 'ln=14,r=8,p=1', 'ln=15,r=8,p=5'];
    const hashes = costs.map((cost) => ofScrypt.replace('ln=14,r=8,p=5', cost));
    expect(hashes.map((hash) => scrypt.isOutdated(hash))).toEqual([true, true, true, false]);
  });

  it('an argon2id hash is an error, not a wrong password, where the module is missing', async () => {
    const hash = await (await openPasswords()).hash('x');
    await expect((await openPasswords(SCRYPT_ONLY)).verify('x', hash)).rejects.toThrow(/native module is missing/);
  });

  it.each(['', 'x', '$scrypt$', '$scrypt$ln=99,r=8,p=1$aaaaaaaaaaaaaaaaaaaaaa$b', '$2b$10$x', '$argon2id$broken'])(
    'a hash that cannot be read is an error, not a wrong password: %j',
    async (hash) => {
      await expect((await openPasswords()).verify('x', hash)).rejects.toThrow();
    },
  );
});

/** A native module whose hashes finish when the test says so. */
function heldArgon2() {
  const working: (() => void)[] = [];
  let most = 0;
  const hash = () =>
    new Promise<string>((resolve) => {
      most = Math.max(
        most,
        working.push(() => resolve('$argon2id$')),
      );
    });
  const finishAll = () => {
    for (const finish of working.splice(0)) finish();
  };
  return { argon2: { hash, verify: async () => true }, most: () => most, finishAll };
}

describe('many passwords at once', () => {
  it('a few hashes run at once, a bounded number waits, one more is refused, and the waiting ones are served', async () => {
    const held = heldArgon2();
    const passwords = await openPasswords({ argon2: held.argon2, atOnceMax: 2, waitingMax: 3 });
    let done = 0;
    const five = Array.from({ length: 5 }, () => passwords.hash('x').then(() => done++));
    expect(await refusalOf(passwords.hash('x'))).toBe('overloaded');
    while (done < 5) {
      held.finishAll();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(five);
    expect(held.most()).toBe(2);
    const again = passwords.verify('x', '$argon2id$');
    expect(await again).toBe(true);
  });

  it('a hash that fails passes its slot to the next', async () => {
    const passwords = await openPasswords({ atOnceMax: 1 });
    const results = await Promise.allSettled([passwords.verify('x', 'broken'), passwords.hash('x')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('a flood of logins is partly refused without growing the memory', async () => {
    const passwords = await openPasswords();
    const before = process.memoryUsage.rss();
    const results = await Promise.allSettled(Array.from({ length: 500 }, () => passwords.hash('x')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(102);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
  });
});
