import { closed, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

export const Deleted = Type.Object(
  { deleted: text('The name or id of what was deleted.', 'anna') },
  { ...closed, title: 'Deleted', description: 'What was deleted.' },
);
export type Deleted = Static<typeof Deleted>;
