import { type Static, Type } from '@tidemark/protocol/typebox';

const CONNECTORS_MAX = 20;
const PATH_UNITS_MAX = 4_096;
const NAME_RULE = 'must have 1 to 100 letters, digits, and any of . _ -';
const VARIABLE_RULE = 'must be the name of a variable, such as TIDEMARK_POSTGRES_URL';
const PATH_RULE = 'must be the path of a file';

/** The variable with the address of the database, unless a connector names another one. */
export const URL_VARIABLE = 'TIDEMARK_POSTGRES_URL';
export const MAPPING_FILE = 'tidemark-postgres.jsonc';

function path() {
  return Type.Optional(Type.String({ minLength: 1, maxLength: PATH_UNITS_MAX, rule: PATH_RULE }));
}

/** A database that the server connects. The address is never a part of it, because it contains a password. */
export const ConnectorSetting = Type.Object(
  {
    name: Type.String({ pattern: '^[\\w.-]{1,100}$', rule: NAME_RULE }),
    kind: Type.Enum(['postgres'], { rule: 'must be postgres' }),
    // Whoever takes it for the address itself would see the password in the message.
    url_env: Type.Optional(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', rule: VARIABLE_RULE, secret: true })),
    url_file: path(),
    mapping: path(),
  },
  { additionalProperties: false },
);
export type ConnectorSetting = Static<typeof ConnectorSetting>;

export const ConnectorSettings = Type.Array(ConnectorSetting, {
  maxItems: CONNECTORS_MAX,
  description: 'The databases that the servers connect by themselves; see docs/guides/postgres.md.',
  default: [],
  rule: `must be a list of at most ${CONNECTORS_MAX} connectors, each with a name of its own`,
  fileOnly: true,
});
