import { closed, count, flag, moment, nullableText, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

/** What a line of the audit trail is about. */
export const AuditSubject = Type.Object(
  {
    user_id: Type.Optional(text('The user.', 'anna')),
    client_id: Type.Optional(text('The device.', 'c3f1a2b4')),
    source: Type.Optional(text('The source.', 'Product')),
    group: Type.Optional(text('The group.', 'north')),
    object_id: Type.Optional(text('The object, if it is one.', '17')),
    name: Type.Optional(text('The name or id of anything else: a token, backup, document, queue or job.', 'nightly')),
  },
  { ...closed, title: 'AuditSubject', description: 'What it was done to, as far as it has a name.' },
);
export type AuditSubject = Static<typeof AuditSubject>;

/** The change of one attribute by hand. */
export const AuditChange = Type.Object(
  {
    object_id: text('The object.', '17'),
    attribute: text('The attribute.', 'price'),
    old: nullableText('The value before, as JSON, cut off with … if it is long; null: there was none.', '12'),
    new: nullableText('The value after, as JSON, cut off with … if it is long; null: there is none.', '15'),
  },
  { ...closed, title: 'AuditChange', description: 'The change of one attribute.' },
);
export type AuditChange = Static<typeof AuditChange>;

/** One line of the audit trail. */
export const AuditFact = Type.Object(
  {
    id: text('The id of the fact; `after` of the next page.', '0kz8m1q7v-9f86d081884c'),
    at: moment('When it happened first.'),
    actor: nullableText(
      'The login; null: nobody was recognised, or, with an empty address, the server did it itself.',
      'admin',
    ),
    token_id: nullableText('The id of the token that was used; null: none was.', '9f86d081884c7d65'),
    action: text('What was done.', 'user.create'),
    target: nullableText('What it was done to: a path of the API.', '/rc/v1/users'),
    result: text(
      '`ok`, the code of the refusal, the problem that a check has found, or the state that the server has come to.',
      'ok',
    ),
    address: text('The address of the caller; `*`: several; empty: the server itself.', '192.0.2.7'),
    request_id: text('The id of the request.', '6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11'),
    count: Type.Integer({ description: 'How often it happened; only failed logins are summed up.', examples: [1] }),
    subject: AuditSubject,
    objects_changed: Type.Union([count('Objects that it changed.', 1), Type.Null()], {
      description: 'How many objects it changed by hand; null: it was not about objects.',
      examples: [1],
    }),
    changes: Type.Array(AuditChange, { description: 'The changes of attributes, of objects changed by hand.' }),
    are_changes_cut: flag('Whether there were more changes than `changes` lists.'),
  },
  { ...closed, title: 'AuditFact', description: 'One line of the audit trail.' },
);
export type AuditFact = Static<typeof AuditFact>;

/** The answer of a search in the audit trail. */
export const AuditPage = Type.Object(
  {
    facts: Type.Array(AuditFact, { description: 'Those that match, newest first.' }),
    next: nullableText('`after` of the next page; null: there is none.', '0kz8m1q7v-9f86d081884c'),
  },
  {
    ...closed,
    title: 'AuditPage',
    description: 'What a search has found. A page may be empty and not the last: one call reads 5,000 entries at most.',
  },
);
export type AuditPage = Static<typeof AuditPage>;
