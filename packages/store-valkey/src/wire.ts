/** What a command is given. */
export type Argument = string | number | Buffer;
/** What a script answers: bulk strings as they are, numbers, and lists of both. */
export type Reply = Buffer | number | null | readonly Reply[];
