import { closed, moment, nullableText, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

/** One line of the audit trail. */
export const AuditFact = Type.Object(
  {
    id: text('The id of the fact; `after` of the next page.', '0kz8m1q7v-9f86d081884c'),
    at: moment('When it happened first.'),
    actor: nullableText('The login; null: nobody was recognised.', 'admin'),
    token_id: nullableText('The id of the token that was used; null: none was.', '9f86d081884c7d65'),
    action: text('What was done.', 'user.create'),
    target: nullableText('What it was done to: a path of the API.', '/rc/v1/users'),
    result: text('`ok`, or the code of the refusal.', 'ok'),
    address: text('The address of the caller; `*`: several.', '192.0.2.7'),
    request_id: text('The id of the request.', '6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11'),
    count: Type.Integer({ description: 'How often it happened; only failed logins are summed up.', examples: [1] }),
  },
  { ...closed, title: 'AuditFact', description: 'One line of the audit trail.' },
);
export type AuditFact = Static<typeof AuditFact>;
