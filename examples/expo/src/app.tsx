import { TidemarkProvider, useMutation, useProblems, useSyncStatus, useUploads } from '@tidemark/react';
import { Component, type ReactNode, Suspense, useState } from 'react';
import { Text, View } from 'react-native';
import { SafeAreaProvider, SafeAreaView } from 'react-native-safe-area-context';
import { device } from './device';
import { OrderScreen } from './order';
import { Orders } from './orders';
import { Parts } from './parts';
import { Problems } from './problems';
import { SignIn } from './sign-in';
import { Action, styles } from './ui';

export function App() {
  return (
    <SafeAreaProvider>
      <SafeAreaView style={styles.screen}>
        <ErrorBoundary>
          <Suspense fallback={<Text style={styles.line}>Opening…</Text>}>
            <TidemarkProvider device={device}>
              <Home />
            </TidemarkProvider>
          </Suspense>
        </ErrorBoundary>
      </SafeAreaView>
    </SafeAreaProvider>
  );
}

function Home() {
  const { userId } = useSyncStatus();
  const [tab, setTab] = useState<'orders' | 'parts'>('orders');
  const [orderId, setOrderId] = useState<string | null>(null);
  if (userId === null) return <SignIn />;
  return (
    <>
      <Status />
      <Problems />
      <View style={styles.content}>
        {tab === 'parts' && <Parts />}
        {tab === 'orders' && orderId === null && <Orders onOpen={setOrderId} />}
        {tab === 'orders' && orderId !== null && <OrderScreen id={orderId} onClose={() => setOrderId(null)} />}
      </View>
      <View style={styles.row}>
        <Action label="Orders" isChosen={tab === 'orders'} onPress={() => setTab('orders')} />
        <Action label="Parts" isChosen={tab === 'parts'} onPress={() => setTab('parts')} />
      </View>
    </>
  );
}

/** Says at any time what is only on this phone. */
function Status() {
  const { isOnline, isSyncing, mode, userId, error } = useSyncStatus();
  const [uploads, problems] = [useUploads(), useProblems()];
  const signOut = useMutation((device) => device.signOut());
  const connection = isOnline ? (isSyncing ? 'syncing' : mode) : 'offline';
  return (
    <View>
      <View style={styles.row}>
        <Text style={styles.line}>
          {userId}: {connection}, {uploads.length} to send, {problems.length} refused
        </Text>
        <Action label="Sign out" onPress={() => signOut.mutate()} />
      </View>
      {error !== null && <Text style={styles.alert}>{error.detail}</Text>}
      {signOut.error !== null && <Text style={styles.alert}>{signOut.error.message}</Text>}
    </View>
  );
}

/** A store that cannot be opened is shown, with the reason. */
class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    return error === null ? this.props.children : <Text style={styles.alert}>{error.message}</Text>;
  }
}
