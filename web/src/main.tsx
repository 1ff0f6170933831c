import { render } from 'preact';
import './style.css';
import { App } from './app';
import { applyTheme, followSystem, readTheme } from './state/theme';

applyTheme(readTheme());
followSystem();
render(<App />, document.getElementById('app')!);
