import './src/background';
import { registerRootComponent } from 'expo';
import { App } from './src/app';

registerRootComponent(App);
