import { render } from 'preact';
import './style/base.css';
import './style/controls.css';
import './style/timeline.css';
import './style/flame.css';
import './style/tables.css';
import './style/states.css';
import './style/narrow.css';
import { App } from './app';
import { applyTheme, followSystem, readTheme } from './state/theme';

applyTheme(readTheme());
followSystem();
render(<App />, document.getElementById('app')!);
