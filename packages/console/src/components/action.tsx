import { Anchor, Button, type ButtonProps, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { client } from '../api/client.ts';
import { type ApiCall, curlOf } from '../api/curl.ts';
import { Command } from './command.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './loaded.tsx';

interface ActionProps {
  /** The words on the button that opens the dialog. */
  readonly label: string;
  readonly title: string;
  /** The words on the button that acts. */
  readonly verb: string;
  readonly call: ApiCall;
  /** The call as curl, where it cannot be found out by making it. */
  readonly curl?: string;
  /** Called with the answer of the server; a promise is waited for. */
  readonly onDone?: (answer: unknown) => unknown;
  /** Shows the answer of the server in the dialog, which then stays open and forgets the answer when it closes; null: it closes. */
  readonly showAnswer?: (answer: unknown) => ReactNode;
  /** True if the call is not to be made again while its answer is shown. */
  readonly isOnce?: boolean;
  readonly children?: ReactNode;
  /** What must be typed before something is destroyed. */
  readonly typedName?: string;
  readonly isDisabled?: boolean;
  /** True: a refusal is listed with its JSON pointers. */
  readonly hasPointers?: boolean;
  readonly button?: ButtonProps;
  /** The dialog opens by itself where the address ends with `?do=` and this word; the palette uses it. */
  readonly word?: string;
}

/** A button with a dialog that makes one call of the API, and shows that call as curl. */
export function Action({ label, title, button, word, ...dialog }: ActionProps) {
  const [isOpen, setOpen] = useState(false);
  const search = useSearch({ strict: false }) as { readonly do?: string };
  const navigate = useNavigate();
  const isWanted = word !== undefined && search.do === word;
  useEffect(() => {
    if (!isWanted) return;
    setOpen(true);
    void navigate({ to: '.', search: { ...search, do: undefined }, replace: true } as never);
  }, [isWanted, navigate, search]);
  return (
    <>
      <Button size="sm" {...button} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <ActionForm {...dialog} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

type ActionFormProps = Omit<ActionProps, 'label' | 'title' | 'button' | 'word'> & {
  readonly onClose: () => void;
  /** The words on the button that calls `onClose`, while they are not "Cancel" or "Done". */
  readonly closeVerb?: string | undefined;
  /** True: the button that acts gets the focus, because the form has replaced what had it. */
  readonly isFocused?: boolean;
};

/** A form that makes one call of the API. */
export function ActionForm({
  verb,
  call,
  curl,
  onDone,
  showAnswer,
  isOnce = false,
  children,
  typedName,
  isDisabled = false,
  hasPointers = false,
  onClose,
  closeVerb,
  isFocused = false,
}: ActionFormProps) {
  const act = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isFocused) act.current?.focus();
  }, [isFocused]);
  const [typed, setTyped] = useState('');
  const [shown, setShown] = useState<ReactNode>(null);
  const { run, error, isBusy } = useAction(call, async (answer) => {
    await onDone?.(answer);
    const answered = showAnswer?.(answer) ?? null;
    if (answered === null) onClose();
    else setShown(answered);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setShown(null);
    void run();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {children !== undefined && (
          <Text component="div" size="sm">
            {children}
          </Text>
        )}
        {typedName !== undefined && (
          <TextInput
            label={<span className="long">Type “{typedName}” to confirm</span>}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        {error !== null && <Failure error={error} hasPointers={hasPointers} />}
        {shown}
        <AsCurl text={() => curl ?? curlOf(call)} />
        <Group justify="flex-end" gap="xs">
          <Button variant={shown === null ? 'default' : 'filled'} onClick={onClose}>
            {closeVerb ?? (shown === null ? 'Cancel' : 'Done')}
          </Button>
          {!(isOnce && shown !== null) && (
            <Button
              ref={act}
              type="submit"
              variant={shown === null ? 'filled' : 'default'}
              loading={isBusy}
              disabled={isDisabled || (typedName !== undefined && typed !== typedName)}
              {...(shown === null ? { color: typedName === undefined ? 'blue' : 'red' } : {})}
            >
              {verb}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

/** Runs a call and refreshes everything that is shown. */
function useAction(call: ApiCall, onDone: (answer: unknown) => Promise<void>) {
  const cache = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      const answer = await call(client);
      // First it leaves the screen of what was deleted, which could not be read again.
      await onDone(answer);
      // The table of objects decides by itself what it loads again, so that its rows stay where they are.
      await cache.invalidateQueries({
        predicate: ({ queryKey: [first] }) => first !== 'session' && first !== 'objects',
      });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return { run, error, isBusy };
}

/** Shows the call behind an action. */
function AsCurl({ text }: { readonly text: () => string }) {
  const [isShown, setShown] = useState(false);
  return (
    <Stack gap={6}>
      <Anchor
        component="button"
        type="button"
        size="sm"
        ta="left"
        onClick={() => setShown(!isShown)}
        aria-expanded={isShown}
      >
        {isShown ? 'Hide curl' : 'Show as curl'}
      </Anchor>
      {isShown && <Command label="curl" text={text()} />}
      {isShown && (
        <Text size="xs" c="dimmed">
          TOKEN is a token of this server. The screen Tokens makes one.
        </Text>
      )}
    </Stack>
  );
}
