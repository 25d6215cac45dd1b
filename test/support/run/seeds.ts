import fc from 'fast-check';
import { SEED } from '../random';

// Properties try the same values in each run; a failure prints the seed and the counterexample.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });
