import { start } from '#dev/start';

start();
