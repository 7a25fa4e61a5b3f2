import { INTERVAL_S_MAX, nameProblem, type SourceSchema, type Step } from '@tidemark/protocol';
import { SchemaMode } from '@tidemark/protocol/admin/sources';
import { Conflicts, PartitionType, References, SyncType } from '@tidemark/protocol/schemas';
import { type Static, Type } from '@tidemark/protocol/typebox';

const NAME_RULE = 'must be a name of 1 to 255 bytes without control characters';

function name() {
  return Type.Refine(Type.String({ rule: NAME_RULE }), (value) => nameProblem('source', value) === null);
}

function queue() {
  return Type.Optional(Type.Union([name(), Type.Null()], { rule: `${NAME_RULE}, or null` }));
}

/** A source in the configuration (specification 2.3, and the adapter). Missing attributes stay as they are. */
export const SourceSetting = Type.Object(
  {
    name: name(),
    poll_interval: Type.Optional(
      Type.Integer({
        minimum: -1,
        maximum: INTERVAL_S_MAX,
        rule: `must be a whole number of seconds from -1 to ${INTERVAL_S_MAX}`,
      }),
    ),
    partition_type: Type.Optional(Type.Union(PartitionType.anyOf, { rule: 'must be one of app, user, group' })),
    sync_type: Type.Optional(Type.Union(SyncType.anyOf, { rule: 'must be one of incremental, bulk_only' })),
    queue: queue(),
    query_queue: queue(),
    cud_queue: queue(),
    adapter: Type.Optional(name()),
    conflicts: Type.Optional(Type.Union(Conflicts.anyOf, { rule: 'must be one of last_writer, detect' })),
    read_only: Type.Optional(Type.Boolean({ rule: 'must be true or false' })),
    references: Type.Optional(References),
    schema: Type.Optional(
      Type.Unsafe<SourceSchema>(Type.Object({}, { additionalProperties: true, rule: 'must be a schema' })),
    ),
    schema_steps: Type.Optional(
      Type.Unsafe<readonly Step[]>(
        Type.Array(Type.Unknown(), { rule: 'must be a list of steps to the present schema' }),
      ),
    ),
    schema_mode: Type.Optional(Type.Union(SchemaMode.anyOf, { rule: 'must be one of off, report, enforce' })),
    schema_force: Type.Optional(Type.Boolean({ rule: 'must be true or false' })),
    schema_version: Type.Optional(Type.Integer({ minimum: 1, rule: 'must be a whole number from 1' })),
    oldest_version: Type.Optional(Type.Integer({ minimum: 1, rule: 'must be a whole number from 1' })),
    push_notify: Type.Optional(
      Type.Union([Type.Boolean(), Type.Literal('until_delivered')], {
        rule: 'must be true, false or "until_delivered"',
      }),
    ),
  },
  { additionalProperties: false },
);
export type SourceSetting = Static<typeof SourceSetting>;

const SOURCES_MAX = 1_000;

export const SourceSettings = Type.Array(SourceSetting, {
  maxItems: SOURCES_MAX,
  description: 'The sources to declare at every start.',
  default: [],
  rule: `must be a list of at most ${SOURCES_MAX} sources, each with a name of its own`,
  fileOnly: true,
});
