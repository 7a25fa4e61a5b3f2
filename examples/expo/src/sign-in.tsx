import { useMutation } from '@tidemark/react';
import { useState } from 'react';
import { Text, TextInput, View } from 'react-native';
import { Action, styles } from './ui';

export function SignIn() {
  const [login, setLogin] = useState('crew-north');
  const [password, setPassword] = useState('');
  const { mutate, isPending, error } = useMutation((device) => device.signIn({ login: login.trim(), password }));
  return (
    <View style={styles.content}>
      <TextInput
        style={styles.input}
        value={login}
        onChangeText={setLogin}
        accessibilityLabel="Login"
        autoCapitalize="none"
        autoCorrect={false}
      />
      <TextInput
        style={styles.input}
        value={password}
        onChangeText={setPassword}
        accessibilityLabel="Password"
        placeholder="Password"
        secureTextEntry
      />
      <Action label={isPending ? 'Signing in…' : 'Sign in'} isDisabled={isPending} onPress={() => mutate()} />
      {error !== null && <Text style={styles.alert}>{error.message}</Text>}
    </View>
  );
}
