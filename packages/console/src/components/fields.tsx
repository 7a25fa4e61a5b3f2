import { PasswordInput, type PasswordInputProps, TextInput, type TextInputProps } from '@mantine/core';

type TextFieldProps = Omit<TextInputProps, 'value' | 'onChange'> & {
  readonly value: string;
  readonly onText: (text: string) => void;
};

/** A text field that hands over its text. */
export function TextField({ onText, ...props }: TextFieldProps) {
  return <TextInput autoComplete="off" {...props} onChange={(event) => onText(event.currentTarget.value)} />;
}

type PasswordFieldProps = Omit<PasswordInputProps, 'value' | 'onChange'> & Pick<TextFieldProps, 'value' | 'onText'>;

/** A field for a password that somebody sets. */
export function NewPasswordField({ onText, ...props }: PasswordFieldProps) {
  return (
    <PasswordInput
      autoComplete="new-password"
      visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
      {...props}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
}
