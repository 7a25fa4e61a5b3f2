import { closed, count, flag, moment, text, texts } from '../annotated.ts';
import type { SourceSchema } from '../source-schema/source-schema.ts';
import type { Step } from '../source-schema/step.ts';
import { type Static, Type } from '../typebox.ts';
import { SchemaState } from './sources.ts';

const ORDER = {
  properties: { state: { type: 'string', enum: ['open', 'done'] }, total: { type: 'number', minimum: 0 } },
  required: ['state'],
};

/** Admission checks it, and says more exactly than a schema what is wrong. */
const SchemaText = Type.Unsafe<SourceSchema>(
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'What the attributes of an object must be: a part of JSON Schema 2020-12.',
      examples: [ORDER],
    },
  ),
);

const Steps = Type.Unsafe<readonly Step[]>(
  Type.Array(Type.Object({}, { additionalProperties: true }), {
    description: 'The steps from the present version to the new one. Absent: there are none.',
    examples: [[{ step: 'rename', attribute: 'title', to: 'name' }]],
  }),
);

const Sample = Type.Object(
  {
    object: text('The id of the object.', '17'),
    attribute: text('The attribute that does not fit.', 'state'),
    detail: text('Why it does not fit. It does not repeat the value.', '"state" must be one of "open", "done"'),
    at: moment('When it was written.'),
  },
  { ...closed, description: 'An object that does not fit.' },
);

export const SchemaReport = Type.Object(
  {
    source: text('The name of the source.', 'Order'),
    mode: SchemaState.properties.mode,
    version: SchemaState.properties.version,
    objects: count('Objects that were written and would have been refused if the schema were enforced.', 3),
    samples: Type.Array(Sample, { description: 'The newest of them, the last one first.' }),
  },
  {
    ...closed,
    title: 'SchemaReport',
    description: 'What a schema that only reports would have refused, since the server that answers has started.',
  },
);
export type SchemaReport = Static<typeof SchemaReport>;

export const SchemaProposal = Type.Object(
  {
    source: text('The name of the source.', 'Order'),
    schema: SchemaText,
    objects: count('The objects that it was made from.', 1_200),
    support: Type.Record(Type.String(), Type.Integer(), {
      description: 'A JSON pointer to a statement of the schema → how many values support it.',
      examples: [{ '/properties/state/type': 1_200, '/properties/state/enum': 1_200, '/required/0': 1_200 }],
    }),
  },
  { ...closed, title: 'SchemaProposal', description: 'A schema that fits the objects it was made from.' },
);
export type SchemaProposal = Static<typeof SchemaProposal>;

/** What a call can set about the schema of a source. */
export const SchemaChanges = Type.Object(
  {
    schema: Type.Optional(SchemaText),
    steps: Type.Optional(Steps),
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'The number of the new version, if apps were built for it elsewhere. Absent: the next number.',
        examples: [7],
      }),
    ),
    mode: Type.Optional(SchemaState.properties.mode),
    oldest_version: Type.Optional(SchemaState.properties.oldest_version),
    force: Type.Optional(flag('True: set the schema although it breaks apps that are in use.')),
  },
  {
    ...closed,
    title: 'SchemaChanges',
    description: 'What to change about the schema of a source. What is absent stays.',
  },
);
export type SchemaChanges = Static<typeof SchemaChanges>;

export const SchemaView = Type.Object(
  {
    source: text('The name of the source.', 'Order'),
    ...SchemaState.properties,
    schema: SchemaText,
    steps: Type.Unsafe<readonly (readonly Step[])[]>(
      Type.Array(Type.Array(Type.Object({}, { additionalProperties: true })), {
        description: 'The steps from each version to the next: the first list leads from version 1 to 2.',
        examples: [[[{ step: 'rename', attribute: 'title', to: 'name' }]]],
      }),
    ),
    set_at: moment('When the present version was set.'),
  },
  { ...closed, title: 'SchemaView', description: 'The schema of a source, with its versions.' },
);
export type SchemaView = Static<typeof SchemaView>;

export const SchemaDiff = Type.Object(
  {
    source: text('The name of the source.', 'Order'),
    kind: Type.Union(
      [Type.Literal('equal'), Type.Literal('additive'), Type.Literal('translatable'), Type.Literal('breaking')],
      {
        description:
          'What the new schema means for older apps: nothing, nothing that they notice, what the steps translate, or that they break.',
      },
    ),
    reasons: texts('Why it is breaking, a sentence for each attribute.', ['"title" is missing']),
    version: Type.Integer({ minimum: 1, description: 'The version that the new schema would be.', examples: [2] }),
    devices: Type.Record(Type.String(), Type.Integer(), {
      description: 'Devices that were here in the last 30 days, by the version of the schema that they say.',
      examples: [{ '1': 412, '2': 88 }],
    }),
    devices_without_version: count('Devices of the last 30 days that have not said their version.', 3),
  },
  { ...closed, title: 'SchemaDiff', description: 'What another schema would mean for the apps that are in use.' },
);
export type SchemaDiff = Static<typeof SchemaDiff>;
