import { start } from './local/start';

start();
