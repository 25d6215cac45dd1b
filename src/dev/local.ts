import '#platform/log/source-maps';
import { start } from './start';

start();
