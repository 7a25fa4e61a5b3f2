import { closed, moment, nullableMoment, nullableText, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

/** The licence in use; `seats: null` means that nothing is capped. */
export const License = Type.Object(
  {
    license: text('The SPDX identifier of the licence.', 'Apache-2.0'),
    edition: text('The edition of the server.', 'community'),
    licensee: nullableText('Who runs the server, as the configuration says; null: it does not say.', 'Example Ltd'),
    seats: Type.Null({ description: 'Always null: the number of devices has no cap.' }),
    devices: Type.Integer({ description: 'How many devices are registered.', examples: [42] }),
    available: Type.Null({ description: 'Always null: the number of devices has no cap.' }),
    issued: nullableMoment('When this installation was first started.'),
    expires: Type.Null({ description: 'Always null: the licence does not end.' }),
    version: text('The version of the server.', '0.1.0'),
  },
  { ...closed, title: 'License', description: 'The licence in use.' },
);
export type License = Static<typeof License>;

/** A setting of the running server. */
export const SettingInForce = Type.Object(
  {
    name: text('The name in the configuration file.', 'devices.retention_days'),
    value: Type.Unknown({ description: 'The value; a secret that is set is shown as `***`.', examples: [90] }),
    origin: text('Where the value comes from: a flag, a variable, a file, or `default`.', 'TIDEMARK_PORT'),
    kind: Type.Enum(['default', 'file', 'environment', 'secret_file', 'flag'], {
      description: 'The kind of origin.',
      examples: ['environment'],
    }),
    warning: Type.Union([Type.String(), Type.Null()], {
      description: 'Why the value is risky; null: it is not.',
      examples: ['admin_password is a commonly guessed password; choose another'],
    }),
  },
  { ...closed, title: 'SettingInForce', description: 'A setting with its value and its origin.' },
);
export type SettingInForce = Static<typeof SettingInForce>;

export const ResetReport = Type.Object(
  { epoch: text('The new epoch of the store. Tokens of devices from before it start over.', 'b7Qk2x') },
  { ...closed, title: 'ResetReport', description: 'The result of a reset.' },
);
export type ResetReport = Static<typeof ResetReport>;

/** The address of the backend; null: there is none. */
export const Appserver = Type.Object(
  {
    adapter_url: nullableText(
      'The URL under which the backend answers calls; null: there is no backend.',
      'https://app.example/tidemark',
    ),
  },
  { ...closed, title: 'Appserver', description: 'Where the backend is.' },
);
export type Appserver = Static<typeof Appserver>;

/** The result of checking the backend by calling it. */
export const AppserverCheck = Type.Object(
  {
    name: text('What was looked at: address, reachable, logins, signature, or a source.', 'source Product'),
    status: Type.Enum(['ok', 'warning', 'failed'], { description: 'The result of the check.', examples: ['ok'] }),
    detail: text('What was found, in words.', 'query returned 200 objects'),
  },
  { ...closed, title: 'AppserverCheck', description: 'One check of the backend.' },
);
export type AppserverCheck = Static<typeof AppserverCheck>;
export const AppserverChecks = Type.Object(
  { checks: Type.Array(AppserverCheck, { description: 'The checks, in the order in which they ran.' }) },
  { ...closed, title: 'AppserverChecks', description: 'The result of checking the backend.' },
);
export type AppserverChecks = Static<typeof AppserverChecks>;

/** A call to the backend that failed. */
export const BackendFailure = Type.Object(
  {
    at: moment('When the call failed.'),
    call: text('The call: `authenticate`, `query`, `search`, `create`, `update` or `delete`.', 'query'),
    source: nullableText('The source; null: the call is about none.', 'Product'),
    user_id: nullableText('The login of the user; null: the call is about none.', 'anna'),
    op_id: nullableText('The upload; null: the call is none.', null),
    status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The status of the answer; null: there was none.',
      examples: [503],
    }),
    code: text('The code of the failure.', 'backend_error'),
    reason: text('What went wrong, in words.', 'the backend answered 503'),
    detail: nullableText(
      'What the backend said: the `detail` of its answer, or the beginning of its body; null: nothing. Secrets of the call are masked.',
      'the database is away',
    ),
    duration_ms: Type.Number({ description: 'How long the call took, in milliseconds.', examples: [120] }),
    webhook_id: text('The header `webhook-id` of the call, to find it in the log of the backend.', 'msg_2vXq…'),
  },
  { ...closed, title: 'BackendFailure', description: 'A call to the backend that failed.' },
);
export type BackendFailure = Static<typeof BackendFailure>;
export const BackendFailures = Type.Object(
  { failures: Type.Array(BackendFailure, { description: 'The calls, newest first.' }) },
  { ...closed, title: 'BackendFailures', description: 'The last calls to the backend that failed.' },
);
export type BackendFailures = Static<typeof BackendFailures>;

export const BackendSecret = Type.Object(
  {
    secret: nullableText('The secret; null: it stands in the configuration.', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
  },
  { ...closed, title: 'BackendSecret', description: 'The secret that signs calls to the backend.' },
);
export type BackendSecret = Static<typeof BackendSecret>;
